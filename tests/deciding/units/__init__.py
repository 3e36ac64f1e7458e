"""Statistics of many units, decided."""
