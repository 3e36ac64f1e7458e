"""Commands that help to choose a policy: cost, temporal loss, dummy landmarks, error."""
