"""Commands that help you choose a policy: cost, temporal loss, dummy landmarks, error."""
