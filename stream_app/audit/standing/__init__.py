"""The budget report of a series or a person: guaranteed, used, reserved and remaining epsilon."""
