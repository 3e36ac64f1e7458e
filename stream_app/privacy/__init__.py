"""The privacy core: immutable values and pure functions, without I/O, clock or global state."""
