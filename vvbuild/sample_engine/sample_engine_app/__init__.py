"""The sample engine: VOICEVOX ENGINE's HTTP interface over a model that computes its sound."""
