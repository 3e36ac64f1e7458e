"""One input record in, its decision out; pure."""
