"""The audit of the noise: planted faults are found, correct code is not called broken, and bounds hold."""
