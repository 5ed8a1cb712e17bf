// Commands that are programs of their own.
#pragma once

namespace fettle::tools {

/// Becomes the program `program` beside this one or else on the PATH, with the words after the
/// command; of `help COMMAND` with --help. Returns, with the exit code, only where there is none.
int HandOver(const char* program, int argc, char** argv);

}  // namespace fettle::tools
