"""The arithmetic of a policy's period: its guarantee, and the figures that its entries must state."""
