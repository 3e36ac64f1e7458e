"""Tests of `stream_app/audit/answers`: what a privacy officer asks of an audited ledger."""
