"""The arithmetic of a policy's period: what the policy promises, and which figures its entries must therefore claim."""
