// fettle test: the ONNX test layout, every case in a child process.
#include <fmt/core.h>
#include <signal.h>

#include "commands/command.h"
#include "io/test_case.h"
#include "jobs/command_line.h"
#include "jobs/worker_pool.h"
#include "options/checks.h"
#include "report/progress.h"
#include "report/report.h"
#include "runtime/device_choice.h"

namespace fettle::tools {
namespace {

struct TestOptions {
  CommonOptions common;
  std::vector<std::string> directories;
  TestTolerance tolerance;
  std::string skip_list;
  bool reference = false;
  double limit_seconds = 120;
};

struct CaseOutcome {
  std::string result = "failed";  // passed, failed, skipped
  std::string reason;
};

volatile sig_atomic_t test_interrupted = 0;

void Report(const TestOptions& options, const std::vector<TestCase>& cases,
            const std::vector<CaseOutcome>& outcomes, const std::vector<std::string>& warnings) {
  int64_t passed = 0, failed = 0, skipped = 0;
  Json list = Json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    const CaseOutcome& outcome = outcomes[i];
    passed += outcome.result == "passed";
    failed += outcome.result == "failed";
    skipped += outcome.result == "skipped";
    list.push_back(
        {{"name", cases[i].name}, {"result", outcome.result}, {"reason", outcome.reason}});
    if (outcome.result == "failed" && !options.common.json)
      fmt::print("FAILED {}: {}\n", cases[i].name, outcome.reason);
  }
  if (options.common.json) {
    PrintJson({{"passed", passed},
               {"failed", failed},
               {"skipped", skipped},
               {"tolerance", {{"rtol", options.tolerance.rtol}, {"atol", options.tolerance.atol}}},
               {"cases", std::move(list)},
               {"precision", PrecisionJson(options.common)},
               {"warnings", warnings}});
  } else {
    fmt::print("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
  }
}

/// Runs the cases that `outcomes` does not settle yet.
void RunAll(const TestOptions& options, const std::vector<TestCase>& cases,
            std::vector<CaseOutcome>& outcomes) {
  const runtime::SessionOptions session{
      .threads = 1,
      .reference_only = options.reference,
      .subnormals = *runtime::SubnormalsFromName(options.common.subnormals)};
  std::vector<size_t> todo;
  for (size_t i = 0; i < cases.size(); ++i)
    if (outcomes[i].result != "skipped") todo.push_back(i);
  for (size_t i : todo) outcomes[i].reason = "interrupted before it ran";
  Progress progress("test", std::ssize(todo));
  int64_t finished = 0;
  WorkerPool pool;
  pool.workers = ResolveThreads(options.common.threads);
  pool.limit_seconds = options.limit_seconds;
  pool.work = [&](size_t i) {
    signal(SIGINT, SIG_IGN);
    return RunTestCase(cases[todo[i]], options.tolerance, session).message();
  };
  pool.done = [&](size_t i, const std::string& text) {
    outcomes[todo[i]] = {text.empty() ? "passed" : "failed", text};
    progress.Update(++finished);
  };
  pool.crashed = [](const std::string& reason) { return reason; };
  pool.stop = [] { return test_interrupted != 0; };
  pool.Run(todo.size());
}

int Test(const TestOptions& options) {
  std::vector<std::string> warnings;
  const Status common = CheckCpuOptions(options.common, warnings);
  if (!common.ok()) return Fail(common);
  auto cases = FindTestCases(options.directories);
  if (!cases.ok()) return Fail(cases.status());
  std::vector<CaseOutcome> outcomes(cases->size());
  if (!options.skip_list.empty()) {
    auto skips = SkipList::Read(options.skip_list);
    if (!skips.ok()) return Fail(AsInvalidInput(skips.status()));
    for (size_t i = 0; i < cases->size(); ++i) {
      const std::string* reason = skips->Find((*cases)[i].name);
      if (reason != nullptr) outcomes[i] = {"skipped", *reason};
    }
  }
  PrintWarnings(warnings);
  struct sigaction action = {};
  action.sa_handler = [](int) { test_interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  RunAll(options, *cases, outcomes);
  Report(options, *cases, outcomes, warnings);
  for (const CaseOutcome& outcome : outcomes)
    if (outcome.result == "failed") return test_interrupted != 0 ? kExitFailed : kExitDiffers;
  return kExitOk;
}

}  // namespace

void RegisterTest(CLI::App& app, Action& action) {
  auto options = std::make_shared<TestOptions>();
  CLI::App* sub = app.add_subcommand("test", "run test cases in ONNX's layout of folders");
  sub->add_option("DIR", options->directories, "folders to search for cases")->required();
  sub->add_option("--rtol", options->tolerance.rtol, "relative tolerance (default 0.001)")
      ->check(NonNegative<double>());
  sub->add_option("--atol", options->tolerance.atol, "absolute tolerance (default 1e-7)")
      ->check(NonNegative<double>());
  sub->add_option("--skip-list", options->skip_list,
                  "file of cases to skip: lines of a name, which may end in *, and a reason");
  sub->add_flag("--reference", options->reference, "run each operator by its scalar reference");
  sub->add_option("--case-seconds", options->limit_seconds,
                  "the longest time of one case, in seconds (default 120)")
      ->check(Positive());
  AddCommonOptions(*sub, options->common);
  MarkWithoutEffect(*sub, {"--shape", "--cache", "--no-cache", "--seed"});
  sub->callback([&action, options] { action = [options] { return Test(*options); }; });
}

}  // namespace fettle::tools
