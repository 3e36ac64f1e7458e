"""Tests of the commands that read a ledger: `audit`, `explain` and `left`."""
