"""Tests of `stream_app/audit/answers`: a privacy officer's questions about an audited ledger."""
