// The fettle program but for its `main`.
#pragma once

namespace fettle::tools {

/// Reads the command line, performs the command that it gives and returns the exit code; once in a
/// process.
int RunProgram(int argc, char** argv);

}  // namespace fettle::tools
