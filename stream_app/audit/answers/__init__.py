"""What a privacy officer asks of an audited ledger: what was promised, how it stands, what to tell a person."""
