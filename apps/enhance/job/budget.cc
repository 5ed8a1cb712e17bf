#include "job/budget.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "basics/cpu_time.h"
#include "job/timings.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

/// Rows of a frame that are timed; the whole of it takes as much for each row.
constexpr int kTimedRows = 192;
constexpr int kEncodedFrames = 10;

/// The first frame as the steps get it, cut to the rows that are timed.
FramePtr TimedFrame(const AVFrame& frame, const Plan& plan) {
  FramePtr copy(av_frame_clone(&frame));
  if (copy == nullptr) throw std::bad_alloc();
  FramePtr whole =
      Converter(plan.first.format, plan.first.width, plan.first.height).Convert(std::move(copy));
  whole->height = std::min(whole->height, kTimedRows);
  return whole;
}

/// Milliseconds of a thread's own time for one frame by the plan's chain, all threads at work at
/// once.
double ChainMs(const AVFrame& frame, const Plan& plan, const std::string& network) {
  const FramePtr timed = TimedFrame(frame, plan);
  StepSetup first = plan.first;
  first.height = timed->height;
  first.network = network;
  first.own_levels = false;
  // What is timed does not depend on the amounts, but nothing would be timed at none.
  first.level = 40;
  first.noise = std::max(first.noise, 1.0);
  std::vector<double> ms(static_cast<size_t>(plan.threads));
  FirstError error;
  {
    std::vector<std::jthread> threads;
    for (double& own : ms)
      threads.emplace_back([&] {
        try {
          std::vector<std::atomic<int64_t>> nanoseconds(plan.chain.size());
          Chain chain(plan.chain, first, nanoseconds);
          for (int turn = 0; turn < 2; ++turn) {  // the first one fetches memory
            FramePtr copy(av_frame_clone(timed.get()));
            if (copy == nullptr) throw std::bad_alloc();
            const double start = ThreadCpuMs();
            chain.Apply(std::move(copy));
            own = ThreadCpuMs() - start;
          }
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
    for (int plane = 0; plane < desc->nb_components; ++plane)
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

/// Frames a second of the whole job by each network, the cheapest first.
struct Candidate {
  std::string network;
  double fps;
};

std::vector<Candidate> Candidates(const AVFrame& frame, const Plan& plan) {
  std::string options;
  for (const auto& [name, value] : plan.encoder.options)
    options += fmt::format(" {}={}", name, value);
  double others = plan.survey ? plan.survey->decode_ms : 0;
  if (!plan.picture)
    others += KeptOr(fmt::format("{}{} of {}x{}, {} threads", plan.encoder.name, options,
                                 plan.encoder.width, plan.encoder.height, plan.encoder.threads),
                     [&] { return EncoderMs(frame, plan); });
  std::vector<Candidate> candidates;
  for (const std::string& network : NetworkChoices()) {
    const double ms = KeptOr(fmt::format("{} by {} of {}, {} threads", TextOf(plan.chain), network,
                                         Size(plan), plan.threads),
                             [&] { return ChainMs(frame, plan, network); });
    candidates.push_back({network, 1e3 * plan.threads / (ms + others)});
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
  const double wanted = WantedRate(options, plan);
  const std::vector<Candidate> candidates = Candidates(frame, plan);
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
       fmt::format("{} is wanted, and {} threads do {} frames a second{}",
                   fmt::format("{:.4g}", wanted), plan.threads, fmt::join(figures, ", "),
                   fits ? "" : ": none is fast enough, so the fastest")});
}

}  // namespace fettle::enhance
