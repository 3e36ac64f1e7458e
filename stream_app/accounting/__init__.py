"""What an audited ledger means beyond its own sums: temporal loss under a correlation, and composition.

Temporal loss is computed by stream_app.loss, which is tested against enumeration and linear programs. The audit
itself may import no code of the core, so what needs that stands in this room.
"""
