"""Statistics of many units: readings go into sealed rows, and readings or watermarks close steps."""
