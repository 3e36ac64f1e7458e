"""The privacy core: frozen values and pure functions, without I/O, clock or global state."""
