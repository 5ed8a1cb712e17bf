// The program as a function of a library, where that is also the C interface's: such a library
// takes little more room than the program alone. Not part of the C interface.
#include "commands/program.h"

extern "C" __attribute__((visibility("default"))) int fettle_program(int argc, char** argv) {
  return fettle::tools::RunProgram(argc, argv);
}
