// The table of subcommands, in the order of `fettle --help`. A row `ROW(Name)` stands for a file of
// this folder (of Manual: completion.cc, of Generate: generation/generate.cc) that defines `void
// RegisterName(CLI::App& app, Action& action)`, which adds one subcommand with its options and sets
// `action` where it was given.
#include "commands/command.h"

#define FETTLE_COMMANDS(ROW) \
  ROW(Run)                   \
  ROW(Bench)                 \
  ROW(Test)                  \
  ROW(Compare)               \
  ROW(Inspect)               \
  ROW(Devices)               \
  ROW(Gemm)                  \
  ROW(Peak)                  \
  ROW(Tune)                  \
  ROW(Plan)                  \
  ROW(Report)                \
  ROW(Advise)                \
  ROW(Sweep)                 \
  ROW(Quantise)              \
  ROW(Enhance)               \
  ROW(Generate)              \
  ROW(Db)                    \
  ROW(TuneKernel)            \
  ROW(Completion)            \
  ROW(Manual)                \
  ROW(CompileWorker)

namespace fettle::tools {

#define FETTLE_DECLARE(name) void Register##name(CLI::App& app, Action& action);
FETTLE_COMMANDS(FETTLE_DECLARE)
#undef FETTLE_DECLARE

void RegisterCommands(CLI::App& app, Action& action) {
#define FETTLE_REGISTER(name) Register##name(app, action);
  FETTLE_COMMANDS(FETTLE_REGISTER)
#undef FETTLE_REGISTER
}

}  // namespace fettle::tools
