"""The privacy core: frozen values and pure functions; no I/O, no clock, no global state."""
