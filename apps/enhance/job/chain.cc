#include "job/chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/transparency.h"
#include "av/alpha.h"
#include "av/pixels.h"
#include "job/gain.h"
#include "job/plan_file.h"
#include "steps/networks.h"
#include "tables/formulas.h"

namespace fettle::enhance {
namespace {

bool IsOdd(int width, int height, AVPixelFormat format) {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(format);
  return width % (1 << desc->log2_chroma_w) != 0 || height % (1 << desc->log2_chroma_h) != 0;
}

bool Has(const std::vector<ChainLink>& chain, std::unique_ptr<Step> (*make)(const StepSetup&)) {
  return std::ranges::any_of(chain, [&](const ChainLink& link) { return link.row->make == make; });
}

/// Steps that are told how much there is to remove.
bool NeedsSurvey(const std::vector<ChainLink>& chain) {
  return Has(chain, MakeDeblock) || Has(chain, MakeDenoise);
}

void TakeSurvey(const AVFrame& frame, Plan& plan) {
  plan.survey = SurveyOf(plan.input, plan.cut,
                         WorkingFormat(static_cast<AVPixelFormat>(frame.format), false));
  plan.first.level = plan.survey->all.level;
  plan.first.own_levels = plan.survey->all.level_told;
  plan.first.noise = plan.survey->all.noise;
  plan.first.own_noise = !plan.picture;
}

/// Whether the network doubles depends on what is wanted alone.
void AdviseForSize(const JobOptions& options, const AVFrame& frame, std::vector<Advice>& advice) {
  const bool grows = options.width > frame.width || options.height > frame.height;
  for (Advice& one : advice)
    if (one.step == "superres")
      one = {one.step, grows,
             fmt::format("{}x{} is {} than {}x{}", options.width, options.height,
                         grows ? "more" : "no more", frame.width, frame.height)};
}

/// The steps, and of each why it is among them or not.
Reasons ChooseSteps(const JobOptions& options, const AVFrame& frame, Plan& plan) {
  Reasons reasons;
  if (!options.plan_file.empty()) {
    PlanFile file = ReadPlanFile(options.plan_file, options.input);
    plan.chain = std::move(file.chain);
    plan.first.network = file.network;
    plan.first.level = file.level;
    plan.first.own_levels = file.own_levels;
    plan.first.noise = file.noise;
    plan.first.own_noise = file.own_noise && !plan.picture;
    for (const ChainLink& link : plan.chain) reasons[link.row->name] = options.plan_file.string();
    return reasons;
  }
  if (!options.steps.empty()) {
    plan.chain = ReadChain(options.steps);
    if (options.explain || options.network.empty() || NeedsSurvey(plan.chain))
      TakeSurvey(frame, plan);
    for (const ChainLink& link : plan.chain) reasons[link.row->name] = "--steps";
    return reasons;
  }
  TakeSurvey(frame, plan);
  std::vector<Advice> advice = AdviceFor(*plan.survey, frame.width, frame.height);
  if (options.width > 0) AdviseForSize(options, frame, advice);
  for (const Advice& one : advice) reasons[one.step] = one.reason;
  plan.chain = ChainOf(advice);
  return reasons;
}

/// The choice that a step of the chain is.
Choice ChoiceOf(const ChainLink& link, const Plan& plan, const std::string& why) {
  const int depth = DepthOf(plan.first.format);
  std::string how = fmt::format("{:g}", link.strength);
  std::string reason = fmt::format("{}; {}", link.row->what, why);
  if (const Network* network = FindNetwork(link.row->name, plan.first.network, depth)) {
    how += fmt::format(", {}", network->name);
    reason += depth > 8 ? "; more than 8 bits, so in fp32" : "";
  }
  if (link.row->make == MakeDeblock) {
    how += fmt::format(", level {:.1f}", plan.first.level);
    if (plan.first.own_levels) reason += "; each frame by its own";
    if (!plan.first.own_levels && DeblockShare(plan.first.level) <= 0)
      reason += "; so fine that frames pass as they are";
  }
  if (link.row->make == MakeDenoise) {
    how += fmt::format(", sigma {:.1f}", plan.first.noise);
    if (plan.first.own_noise) reason += "; each scene by its own";
  }
  return {std::string(link.row->name), how, reason};
}

constexpr int64_t kMostPixels = int64_t{1} << 28;

/// --size, in a format of the result.
void CheckWantedSize(const JobOptions& options, bool picture, AVPixelFormat format) {
  const std::string size = fmt::format("--size {}x{}", options.width, options.height);
  if (int64_t{options.width} * options.height > kMostPixels)
    throw Failure(kExitUsage, size + ": is more than 2^28 pixels");
  if (!picture && IsOdd(options.width, options.height, format))
    throw Failure(
        kExitUsage,
        fmt::format(
            "{}: its {} is odd, and {} has one chroma sample for two pixels; use an even number",
            size, options.width % 2 != 0 ? "width" : "height", NameOf(format)));
}

void CheckSize(const AVFrame& frame, int scale) {
  if (int64_t{frame.width} * frame.height * scale * scale > kMostPixels)
    throw Failure(kExitUnsupported, fmt::format("{}x{} times {} is more than 2^28 pixels",
                                                frame.width, frame.height, scale));
}

}  // namespace

Reasons PlanChain(const JobOptions& options, const AVFrame& frame, Plan& plan) {
  plan.source_format = static_cast<AVPixelFormat>(frame.format);
  plan.first.network = options.network;
  plan.first.dither = options.dither;
  Reasons reasons = ChooseSteps(options, frame, plan);
  plan.first.own_levels = plan.first.own_levels && Has(plan.chain, MakeDeblock);
  plan.first.own_noise = plan.first.own_noise && Has(plan.chain, MakeDenoise);
  const std::vector<std::string> known = NetworkChoices();
  if (!plan.first.network.empty() && std::ranges::find(known, plan.first.network) == known.end())
    throw Failure(kExitUsage,
                  fmt::format("--network: unknown network '{}'; there are fast, good and best",
                              plan.first.network));
  plan.transparent = HasAlpha(plan.source_format) && ShowsThrough(plan.input, plan.cut);
  AVPixelFormat format = WorkingFormat(plan.source_format, plan.picture);
  if (!plan.transparent) format = WithoutAlpha(format);
  const int scale = ScaleOf(plan.chain);
  CheckSize(frame, scale);
  if (options.width > 0)
    CheckWantedSize(options, plan.picture, format);
  else if (!plan.picture && IsOdd(frame.width * scale, frame.height * scale, format))
    format = WithWholeChroma(format);
  plan.first.format = format;
  plan.first.width = frame.width;
  plan.first.height = frame.height;
  plan.first.full_range = ColourOf(frame).range == AVCOL_RANGE_JPEG && IsPlanarYuv(format) &&
                          !(av_pix_fmt_desc_get(plan.source_format)->flags & AV_PIX_FMT_FLAG_RGB);
  return reasons;
}

void LeaveOutUseless(Reasons& reasons, Plan& plan) {
  constexpr double kLeastGain = 0.02;
  const auto deblock = std::ranges::find_if(
      plan.chain, [](const ChainLink& link) { return link.row->make == MakeDeblock; });
  if (deblock == plan.chain.end() || plan.picture || !plan.survey || !plan.first.own_levels) return;
  std::optional<double> gain;
  try {
    gain = DeblockGain(plan);
  } catch (const Failure&) {
    // What the encoder does not take says nothing about the step.
  }
  if (!gain) return;
  std::string& reason = reasons[deblock->row->name];
  if (*gain >= kLeastGain || plan.chain.size() == 1) {
    reason += fmt::format("; gains {:.2f} dB on a recoded sample", *gain);
    plan.gains[deblock->row->name] = fmt::format("{:.2f} dB on a recoded sample", *gain);
    return;
  }
  reason += fmt::format(", but this step gains {:.1f} dB here", std::max(*gain, 0.0));
  plan.chain.erase(deblock);
  plan.first.own_levels = false;
}

void MeasureGains(Plan& plan) {
  if (plan.picture || !plan.survey) return;
  const double light = plan.survey->all.light;
  for (const ChainLink& link : plan.chain) {
    std::optional<double> gain;
    if (link.row->make == MakeSuperres) gain = SuperresGain(plan);
    if (gain) plan.gains[link.row->name] = fmt::format("{:.2f} dB over Lanczos", *gain);
    if (link.row->make == MakeLowLight)
      plan.gains[link.row->name] = fmt::format("light {:.0f} becomes {:.0f}", light,
                                               LightAfter({.light = light}, {}, link.strength));
  }
}

void DescribeChain(const Reasons& reasons, Plan& plan) {
  std::vector<Choice> steps;
  for (const ChainLink& link : plan.chain)
    steps.push_back(ChoiceOf(link, plan, reasons.at(link.row->name)));
  for (const auto& entry : reasons) {
    const auto is_it = [&](const ChainLink& link) { return link.row->name == entry.first; };
    if (std::ranges::none_of(plan.chain, is_it))
      steps.push_back({std::string(entry.first), "left out", entry.second});
  }
  if (plan.first.format != plan.source_format &&
      DepthOf(plan.first.format) != DepthOf(plan.source_format))
    steps.push_back(
        {"steps' pixels", NameOf(plan.first.format),
         fmt::format("steps work on planes of luma, and {} has none", NameOf(plan.source_format))});
  plan.choices.insert(plan.choices.begin(), steps.begin(), steps.end());
}

}  // namespace fettle::enhance
