"""Statistics of many units: readings into sealed rows, and what a reading or a watermark closes into releases."""
