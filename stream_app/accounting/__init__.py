"""What an audited ledger means beyond its own sums: temporal loss under a correlation, and composition.

The loss arithmetic is neither in the entries nor in what wrote them. It comes from the core (stream_app.loss),
where enumeration and linear programs check it, so it has this room, and the audit's own shares no code with any other.
"""
