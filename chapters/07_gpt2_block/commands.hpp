#pragma once
/// @file
/// @brief What the program of this chapter does besides its walk: train, sample, evaluate.

/// The command whose name is argv[1], with the options that follow it.
/// @return the program's exit code, see `CommandLine::run`
int train_command(int argc, char** argv);
int sample_command(int argc, char** argv);
int evaluate_command(int argc, char** argv);
