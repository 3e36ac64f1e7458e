"""Tests of the commands around a worker: `completion`, `keys`, `top` and `worker`."""
