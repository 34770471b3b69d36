//! Settings of the process: defaults ← a settings file ← `LOOKASIDE__…` ← flags.
