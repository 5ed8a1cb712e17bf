#include "job/budget.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <thread>

#include "basics/cpu_time.h"
#include "basics/processor_share.h"
#include "job/timings.h"
#include "motion/between.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

/// Rows of a frame that are timed; more of them take as much for each row.
constexpr int kTimedRows = 480;
constexpr int kEncodedFrames = 24;
/// Turns of which the fastest counts: another program on the same core's other half makes a
/// thread's own time longer, too, and what was timed is kept.
constexpr int kTurns = 2;

/// The first frame as the steps get it, cut to the rows that are timed.
FramePtr TimedFrame(const AVFrame& frame, const Plan& plan) {
  FramePtr copy(av_frame_clone(&frame));
  if (copy == nullptr) throw std::bad_alloc();
  FramePtr whole =
      Converter(plan.first.format, plan.first.width, plan.first.height).Convert(std::move(copy));
  whole->height = std::min(whole->height, kTimedRows);
  return whole;
}

double LeastOfTurns(const std::function<double()>& measure) {
  double least = measure();
  for (int turn = 1; turn < kTurns; ++turn) least = std::min(least, measure());
  return least;
}

/// Milliseconds of the calling thread for one frame of the result by the plan's chain.
double ApplyMs(const AVFrame& frame, const Plan& plan, const StepSetup& first) {
  const auto timed = [](auto&& run) {
    run();  // the first turn fetches memory
    return LeastOfTurns([&] {
      const double start = ThreadCpuMs();
      run();
      return ThreadCpuMs() - start;
    });
  };
  const auto copied = [](const AVFrame& from) {
    FramePtr copy(av_frame_clone(&from));
    if (copy == nullptr) throw std::bad_alloc();
    return copy;
  };
  std::vector<std::atomic<int64_t>> nanoseconds(plan.chain.size());
  const std::vector<ChainLink> before = LinksBefore(plan.chain);
  Chain prepare(before, first, nanoseconds);
  FramePtr prepared;
  double ms = timed([&] { prepared = prepare.Apply(copied(frame)); });
  if (MakesBetween(plan.chain)) {
    // The next frame is this one moved.
    constexpr int kMoved = 4;
    const FramePtr next = copied(*prepared);
    if (next->width > kMoved) next->data[0] += kMoved;
    Between between;
    ms += timed([&] { between.Make(*prepared, *next); });
    ms /= 2;  // for two frames of the result
  }
  Chain finish(LinksAfter(plan.chain), SetupAfter(before, first), nanoseconds);
  return ms + timed([&] { finish.Apply(copied(*prepared)); });
}

/// The same, all threads at work at once, for the whole height.
double ChainMs(const AVFrame& frame, const Plan& plan, const std::string& network) {
  const FramePtr timed = TimedFrame(frame, plan);
  StepSetup first = plan.first;
  first.height = timed->height;
  first.network = network;
  first.own_levels = false;
  // What is timed does not depend on the amounts, but nothing would be timed at none.
  first.level = 40;
  first.own_noise = false;
  first.noise = std::max(first.noise, 2.0);
  std::vector<double> ms(static_cast<size_t>(plan.threads));
  FirstError error;
  {
    std::vector<std::jthread> threads;
    for (double& own : ms)
      threads.emplace_back([&] {
        try {
          own = ApplyMs(*timed, plan, first);
        } catch (...) {
          error.Set();
        }
      });
  }
  error.RethrowIfAny();
  return std::ranges::max(ms) * plan.first.height / timed->height;
}

/// Milliseconds of all the processor's time for one frame by the plan's encoder: the first frame,
/// enlarged and moving.
double EncoderMs(const AVFrame& frame, const Plan& plan) {
  constexpr int kMoves = 4;
  FramePtr copy(av_frame_clone(&frame));
  if (copy == nullptr) throw std::bad_alloc();
  const EncoderSetup& setup = plan.encoder;
  const FramePtr large =
      Converter(setup.format, setup.width + kMoves * kEncodedFrames, setup.height)
          .Convert(std::move(copy));
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(setup.format);
  Encoder encoder(setup);
  const std::clock_t start = std::clock();
  for (int i = 0; i < kEncodedFrames; ++i) {
    FramePtr moved = NewFrame(setup.format, setup.width, setup.height);
    FramePtr view(av_frame_clone(large.get()));
    if (view == nullptr) throw std::bad_alloc();
    for (int plane = 0; plane < av_pix_fmt_count_planes(setup.format); ++plane)
      view->data[plane] += (kMoves * i >> (plane == 1 || plane == 2 ? desc->log2_chroma_w : 0)) *
                           desc->comp[plane].step;
    view->width = setup.width;
    CheckAv(av_frame_copy(moved.get(), view.get()), "a frame");
    moved->pts = i;
    encoder.Encode(std::move(moved), [](AVPacket&) {});
  }
  encoder.Encode(nullptr, [](AVPacket&) {});
  return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / kEncodedFrames;
}

std::string Size(const Plan& plan) {
  return fmt::format("{}x{} {}", plan.first.width, plan.first.height, NameOf(plan.first.format));
}

/// Of the whole job by each network.
std::vector<Candidate> Candidates(const AVFrame& frame, const Plan& plan) {
  std::string options;
  for (const auto& [name, value] : plan.encoder.options)
    options += fmt::format(" {}={}", name, value);
  double others = plan.survey ? plan.survey->decode_ms : 0;
  if (MakesBetween(plan.chain)) others /= 2;  // two frames of each that is decoded
  if (!plan.encoder.name.empty())
    others += KeptOr(fmt::format("{}{} of {}x{}, {} threads", plan.encoder.name, options,
                                 plan.encoder.width, plan.encoder.height, plan.encoder.threads),
                     [&] { return LeastOfTurns([&] { return EncoderMs(frame, plan); }); });
  std::vector<Candidate> candidates;
  for (const std::string& network : NetworkChoices()) {
    const double ms = KeptOr(fmt::format("{} by {} of {}, {} threads", TextOf(plan.chain), network,
                                         Size(plan), plan.threads),
                             [&] { return ChainMs(frame, plan, network); });
    candidates.push_back({network, 1e3 * ThreadsAtOnce(plan.threads) / (ms + others)});
  }
  return candidates;
}

double WantedRate(const JobOptions& options, const Plan& plan) {
  if (options.fps > 0) return options.fps;
  const AVRational rate = plan.encoder.frame_rate;
  return rate.num > 0 ? av_q2d(rate) : 25;
}

bool HasNetworks(const Plan& plan) {
  return std::ranges::any_of(plan.chain, [](const ChainLink& link) {
    return FindNetwork(link.row->name, "fast", 8) != nullptr;
  });
}

std::string ThreadsText(int threads) {
  const int at_once = ThreadsAtOnce(threads);
  if (at_once < threads) return fmt::format("{} threads on {} cores", threads, at_once);
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

/// What becomes of the promise as the machine is now; "" where it is nearly idle.
std::string LoadText(double share) {
  constexpr double kIdle = 0.9;
  if (share >= kIdle) return "";
  return fmt::format(
      "; now other programs run and leave {:.0f} % of the cores' time, so expect less",
      100 * share);
}

}  // namespace

void ChooseNetwork(const JobOptions& options, const AVFrame& frame, Plan& plan) {
  if (!plan.first.network.empty()) return;
  plan.first.network = NetworkChoices().front();
  if (!HasNetworks(plan)) return;
  if (options.budget == "best" || (plan.picture && options.fps == 0)) {
    plan.first.network = NetworkChoices().back();
    plan.choices.push_back({"network", plan.first.network,
                            options.budget == "best" ? "--budget best" : "a picture has no rate"});
    return;
  }
  const bool goes_on = !options.kept_network.empty();
  const bool paced = !plan.picture && (options.paced || options.fps > 0);
  if (goes_on) plan.first.network = options.kept_network;
  if (goes_on && !paced) return;
  const double wanted = WantedRate(options, plan);
  const std::vector<Candidate> candidates = Candidates(frame, plan);
  if (paced) plan.pace = {wanted, candidates};
  if (goes_on) {
    plan.choices.push_back({"network", plan.first.network, "as in the unfinished job"});
    return;
  }
  plan.processor_share = ProcessorShare(plan.threads);
  std::vector<std::string> figures;
  bool fits = false;
  for (const Candidate& candidate : candidates) {
    figures.push_back(fmt::format("{} {:.1f}", candidate.network, candidate.fps));
    if (candidate.fps < wanted) continue;
    plan.first.network = candidate.network;
    fits = true;
  }
  plan.choices.push_back(
      {"network", plan.first.network,
       fmt::format(
           "{:.4g} frames a second are wanted, and {} reach {} if no other program runs{}{}",
           wanted, ThreadsText(plan.threads), fmt::join(figures, ", "),
           LoadText(*plan.processor_share),
           fits ? "" : "; none is fast enough, so the fastest is taken")});
}

}  // namespace fettle::enhance
