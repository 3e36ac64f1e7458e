"""Tests of the commands that look ahead: `correlate`, `dummies`, `loss`, `plan` and `verify`."""
