"""What trainers of recurrent networks share: layers forwards and backwards, and the optimiser."""
