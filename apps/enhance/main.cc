// fettle-enhance: videos, pictures and folders of them; docs/enhance.md describes it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fettle/fettle.hpp>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "av/cut.h"
#include "basics/messages.h"
#include "basics/nearest.h"
#include "command/enhance.h"
#include "command/values.h"
#include "job/batch.h"
#include "report/layout.h"
#include "report/stop_key.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

/// The first signal asks the job to stop, the second ends the program.
std::stop_source StopOnSignals() {
  std::stop_source stop;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([stop, signals]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    stop.request_stop();
    sigwait(&signals, &signal);
    StopKey::RestoreTerminal();
    _exit(128 + signal);
  }).detach();
  return stop;
}

int Fail(const Arguments& arguments, const Failure& failure) {
  PrintMessage("fettle: {}\n", OneLine(failure.what()));
  if (arguments.json)
    std::fputs(TextOf(ErrorJson(failure)).c_str(),
               WritesStandardOutput(arguments.job) ? stderr : stdout);
  return failure.code();
}

int Perform(Arguments arguments, std::stop_token stop) {
  if (IsLive(arguments.job)) return EnhanceLive(arguments, stop);
  for (const auto& [given, name] :
       {std::pair(!arguments.live.input_format.empty(), "--input-format"),
        std::pair(!arguments.live.output_format.empty(), "--output-format"),
        std::pair(arguments.live.latency > 0, "--latency")})
    if (given)
      throw Failure(
          kExitUsage,
          fmt::format("{}: is for streams (-, an address or a camera), and both names are files",
                      name));
  const Batch batch = BatchOf(arguments.job);
  if (batch.record != nullptr) return EnhanceAll(batch, arguments, stop);
  arguments.jobs = 1;
  const Outcome outcome = EnhanceOne(batch.jobs.front(), arguments, stop);
  fmt::print("{}", arguments.json ? TextOf(outcome.document) : outcome.text);
  return outcome.code;
}

/// "1920x1080".
std::optional<std::pair<int, int>> ReadSize(const std::string& text) {
  constexpr int kMost = 32768;
  std::pair<int, int> size;
  const char* const end = text.data() + text.size();
  const auto [cross, error] = std::from_chars(text.data(), end, size.first);
  if (error != std::errc() || cross == end || *cross != 'x') return std::nullopt;
  const auto [at, second_error] = std::from_chars(cross + 1, end, size.second);
  const bool in_range =
      std::min(size.first, size.second) >= 1 && std::max(size.first, size.second) <= kMost;
  if (second_error != std::errc() || at != end || !in_range) return std::nullopt;
  return size;
}

/// A line for each step, as help has them.
std::string StepsText() {
  std::string text = "Steps:\n";
  for (const StepRow& row : StepRows()) {
    text += fmt::format("  {:28}{}", row.name, row.what);
    if (row.least < row.most)
      text += fmt::format(" ({:g} to {:g}, usually {:g})", row.least, row.most, row.usual);
    text += "\n";
  }
  return text;
}

/// What is done: the steps and their networks, from whichever of the options that exclude each
/// other.
void AddStepOptions(CLI::App& app, JobOptions& job) {
  CLI::Option* named =
      app.add_option("--steps", job.steps,
                     "STEP[=STRENGTH],... in this order; without it, what the input needs")
          ->check(CLI::Validator(
              [](const std::string& text) {
                return std::string(text.empty() ? "expected steps, got ''" : "");
              },
              ""));
  CLI::Option* network =
      app.add_option("--network", job.network, "size of the steps' networks (default: by --budget)")
          ->check(OneOf(NetworkChoices()));
  CLI::Option* fps =
      app.add_option("--fps", job.fps, "keep up with this many frames a second, as --realtime does")
          ->check(NumberFrom(0.001, 1e9));
  app.add_option("--budget", job.budget,
                 "the largest network that keeps up with the input, or the best one")
      ->capture_default_str()
      ->check(OneOf({"realtime", "best"}))
      ->excludes(fps)
      ->excludes(network);
  app.add_flag_function(
         "--realtime",
         [&job](int64_t) {
           job.budget = "realtime";
           job.paced = true;
         },
         "keep up with the input: change to a faster network where the machine slows down")
      ->excludes(fps);
  fps->excludes(network);
  app.add_option("--plan", job.plan_file,
                 "do what this plan says: a file that --plan-only --json wrote")
      ->excludes(named)
      ->excludes(network);
  app.add_flag("--dither", job.dither,
               "hide bands: round by a pattern in steps that work by a table");
}

/// "--start 83.5".
CLI::Validator TimeFrom(int64_t least) {
  return CLI::Validator(
      [least](const std::string& text) {
        return ReadTime(text).value_or(-1) >= least
                   ? ""
                   : fmt::format("expected {} or h:m:s, as 83.5 or 0:01:23.5, got '{}'",
                                 least > 0 ? "seconds over 0" : "seconds", text);
      },
      "TIME");
}

/// Which part of a video is done, and how large its result is.
void AddExtentOptions(CLI::App& app, JobOptions& job) {
  const auto time = [&](const char* name, int64_t& to, int64_t least, const char* help) {
    app.add_option_function<std::string>(
           name, [&to](const std::string& text) { to = *ReadTime(text); }, help)
        ->check(TimeFrom(least));
  };
  time("--start", job.cut.start, 0, "begin at this time, which becomes 0: seconds or h:m:s");
  time("--duration", job.cut.duration, 1, "length of the part: seconds or h:m:s");
  app.add_option_function<std::string>(
         "--size",
         [&job](const std::string& text) { std::tie(job.width, job.height) = *ReadSize(text); },
         "WIDTHxHEIGHT of the result: what the steps make, enlarged or reduced by Lanczos")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return ReadSize(text) ? ""
                                  : fmt::format(
                                        "expected WIDTHxHEIGHT of 1 to 32768, as "
                                        "1920x1080, got '{}'",
                                        text);
          },
          "SIZE"));
}

void AddAlertOptions(CLI::App& app, JobOptions& job) {
  app.add_option("--alert-file", job.alert_file,
                 "where alert writes what it found, as JSON (default OUTPUT.alerts.json)");
  app.add_option("--alert-score", job.alert_score,
                 "the least score at which alert reports a phone (default 0.55)")
      ->check(NumberFrom(0.01, 0.99));
  app.add_option("--alert-votes", job.alert_votes,
                 "SEEN/OF: alert reports what it sees in SEEN of OF frames (default 15/30)");
}

void AddEncoderOptions(CLI::App& app, JobOptions& job) {
  app.add_option("--encoder", job.encoder, fmt::format("auto, {}", fmt::join(EncoderNames(), ", ")))
      ->capture_default_str();
  app.add_option("--crf", job.crf,
                 "quality: lower is better and gives a larger file (default: by encoder, see "
                 "docs/enhance.md)")
      ->check(WholeFrom(0, 63));
  app.add_option("--preset", job.preset,
                 "speed, in the encoder's own words, such as veryfast (default: by encoder, see "
                 "docs/enhance.md)");
}

/// Of streams that are enhanced while they come.
void AddLiveOptions(CLI::App& app, LiveOptions& live) {
  app.add_option(
      "--input-format", live.input_format,
      "format of a stream: y4m, ts, nut, v4l2 or raw:640x480:yuv420p:25 (default: detected)");
  app.add_option(
      "--output-format", live.output_format,
      "format of a stream that is written: y4m, ts, nut, raw (default: that of the input)");
  app.add_option("--latency", live.latency,
                 "milliseconds: frames of a stream that would come later get fewer steps "
                 "(default 200)")
      ->check(NumberFrom(0.001, 60000));
}

void AddOptions(CLI::App& app, Arguments& arguments) {
  JobOptions& job = arguments.job;
  app.add_option("INPUT", job.input,
                 "a video, a picture, a folder of them, or a stream: - (standard input), an "
                 "address as udp://HOST:PORT, a camera as /dev/video0")
      ->required();
  app.add_option("-o,--output", job.output,
                 "file or folder to write (default INPUT_enhanced), - or an address");
  AddLiveOptions(app, arguments.live);
  AddStepOptions(app, job);
  AddExtentOptions(app, job);
  AddAlertOptions(app, job);
  AddEncoderOptions(app, job);
  app.add_option("--threads", job.threads, "threads of the CPU; 0: one for each core (default)")
      ->envname("FETTLE_THREADS")
      ->check(WholeFrom(0, 1024));
  app.add_option("--jobs", arguments.jobs,
                 "files of a folder that are done at a time; they share the cores")
      ->capture_default_str()
      ->check(WholeFrom(1, 256));
  app.add_flag("--recursive", job.recursive, "also do the files of folders in the folder");
  CLI::Option* overwrite =
      app.add_flag("--overwrite", job.overwrite, "replace an output that exists");
  app.add_flag("--skip-existing", job.skip_existing, "skip an input whose output exists")
      ->excludes(overwrite);
  app.add_flag("--restart", job.restart, "begin an unfinished job from its start");
  app.add_flag("--strict", job.strict, "refuse a job that cannot keep everything");
  app.add_flag("--preview", job.preview, "write a picture of each scene: left before, right after");
  app.add_option("--report", job.report,
                 "write a page (HTML) with pictures and figures of each scene");
  app.add_flag("--plan-only", job.plan_only, "print what would be done, and do nothing");
  app.add_flag("--explain", arguments.job.explain, "print the reason of each choice");
  app.add_flag("--json", arguments.json, "print one JSON document instead of text")
      ->envname("FETTLE_JSON");
  app.set_version_flag("--version", FETTLE_VERSION, "print the version and exit");
  app.set_help_flag("-h,--help", "print this help and exit");
}

/// The first word that is not an option, with the one that may have been meant.
std::optional<std::string> Misspelling(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i]);
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::ranges::find(known, name) != known.end()) continue;
    return fmt::format("enhance: unknown option '{}'{} (fettle enhance --help lists them)", name,
                       Suggestion(name, known));
  }
  return std::nullopt;
}

/// The parser's "--threads: At Most 1 required but received 2" and its like.
std::string Mismatch(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  if (text.find("At Most 1") != std::string::npos) return name + ": is given more than once";
  return name + ": needs a value";
}

/// "Could not convert: --json = nan" in other words.
std::string Unconverted(const CLI::App& app, const std::string& text) {
  const std::string said = text.substr(std::min(text.find(": "), text.size() - 2) + 2);
  const std::string name = said.substr(0, said.find(" = "));
  const CLI::Option* const option = app.get_option_no_throw(name);
  const bool is_flag = option == nullptr || option->get_items_expected_max() == 0;
  return name + (is_flag ? ": takes no value" : ": its value has the wrong type");
}

/// What CLI11 says of a command line, in words of ours.
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return Mismatch(error.what());
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return Unconverted(app, error.what());
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return fmt::format("expected one INPUT; unexpected: {}", fmt::join(app.remaining(), " "));
  return error.what();
}

int Main(int argc, char** argv) {
  HoldStandardStreams();
  OutliveFileSizeLimit();
  Arguments arguments;
  CLI::App app(
      "Enhances videos and pictures, keeps everything else, and names what it cannot keep.",
      "fettle enhance");
  AddOptions(app, arguments);
  arguments.json = std::any_of(argv, argv + argc,
                               [](const char* word) { return std::string_view(word) == "--json"; });
  if (const auto sentence = Misspelling(app, argc, argv))
    return Fail(arguments, {kExitUsage, *sentence});
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", FittedHelp(app.help() + StepsText()));
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return Fail(arguments, {kExitUsage, UsageMessage(app, error)});
  }
  try {
    SilenceAv();
    const std::stop_source stop = StopOnSignals();
    const StopKey key(stop);
    const int code = Perform(arguments, stop.get_token());
    if (std::fflush(stdout) != 0)
      return Fail({}, {kExitFailed, "standard output cannot be written"});
    return code;
  } catch (...) {
    return Fail(arguments, Caught());
  }
}

}  // namespace
}  // namespace fettle::enhance

int main(int argc, char** argv) { return fettle::enhance::Main(argc, argv); }
