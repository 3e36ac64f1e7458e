"""Commands that read a ledger: audit, explain, left, standing."""
