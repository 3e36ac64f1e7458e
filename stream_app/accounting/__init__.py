"""Results beyond the sums of an audited ledger: temporal loss under a correlation, and composition.

Temporal loss is computed by stream_app.loss, which is tested against enumeration and linear programs. The audit must
not import code of the core, so everything that needs the core is in this package.
"""
