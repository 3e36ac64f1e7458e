"""The audit of the noise: planted faults are found, what is right is not called broken, and bounds are bounds."""
