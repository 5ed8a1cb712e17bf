#include "job/alerts.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "basics/files.h"
#include "job/beside.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

constexpr double kLeastScore = 0.55;
constexpr int kMostVotes = 30;

Votes ReadVotes(const std::string& text) {
  Votes votes;
  const char* end = text.data() + text.size();
  const auto seen = std::from_chars(text.data(), end, votes.seen);
  const bool slash = seen.ec == std::errc() && seen.ptr != end && *seen.ptr == '/';
  const auto of = slash ? std::from_chars(seen.ptr + 1, end, votes.of) : seen;
  if (!slash || of.ec != std::errc() || of.ptr != end || votes.seen < 1 || votes.of < votes.seen ||
      votes.of > kMostVotes)
    throw Failure(kExitUsage,
                  fmt::format("--alert-votes: expected SEEN/OF of 1/1 to {0}/{0}, got '{1}'",
                              kMostVotes, text));
  return votes;
}

void RefuseWithoutStep(const JobOptions& options) {
  const char* wanted = !options.alert_file.empty()    ? "--alert-file"
                       : options.alert_score          ? "--alert-score"
                       : !options.alert_votes.empty() ? "--alert-votes"
                                                      : nullptr;
  if (wanted != nullptr)
    throw Failure(kExitUsage,
                  fmt::format("{}: alert is not among the steps (--steps alert)", wanted));
}

double OpacityOf(const Plan& plan) {
  return plan.alerts_only ? 0 : FindLink(plan.chain, MakeAlert)->strength;
}

/// Where they are told of.
std::filesystem::path AlertFileOf(const JobOptions& options, const Plan& plan) {
  if (plan.alerts_only && !options.alert_file.empty())
    throw Failure(kExitUsage, fmt::format("--alert-file: {} is to hold the alerts already",
                                          plan.output.string()));
  if (plan.alerts_only) return plan.output;
  if (!options.alert_file.empty()) return options.alert_file;
  std::filesystem::path file = plan.output;
  return file += ".alerts.json";
}

}  // namespace

void PlanAlerts(const JobOptions& options, Plan& plan) {
  if (FindLink(plan.chain, MakeAlert) == nullptr) return RefuseWithoutStep(options);
  AlertRules rules{.least_score = options.alert_score.value_or(kLeastScore)};
  if (!options.alert_votes.empty()) rules.votes = ReadVotes(options.alert_votes);
  if (plan.picture) rules.votes = {1, 1};
  plan.alerts = rules;
  plan.first.least_score = rules.least_score;
  plan.alerts_only = plan.output.extension() == ".json";
  plan.alert_file = AlertFileOf(options, plan);
  if (!plan.alerts_only) CheckBeside(options, plan, plan.alert_file, "alerts");
  plan.choices.push_back(
      {"alerts", plan.alert_file.string(),
       fmt::format("of what is seen in {} of {} frames with a score of {:g} or more; {}",
                   rules.votes.seen, rules.votes.of, rules.least_score,
                   OpacityOf(plan) > 0 ? "framed in the picture" : "not drawn")});
}

std::optional<Trail> TrailOf(const Plan& plan) {
  if (!plan.alerts) return std::nullopt;
  return Trail(plan.alerts->votes, ScaleOf(plan.chain), OpacityOf(plan));
}

std::optional<Trail> TrailOf(const Plan& plan, const JobFolder& folder) {
  std::optional<Trail> trail = TrailOf(plan);
  for (size_t i = 0; trail && i < folder.segments().size(); ++i) {
    std::ifstream file(folder.RowsPath(i), std::ios::binary);
    trail->Replay({std::istreambuf_iterator<char>(file), {}});
  }
  return trail;
}

std::string AlertsText(const Plan& plan, Trail& trail, double seconds) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const int depth = av_pix_fmt_desc_get(plan.first.format)->comp[0].depth;
  const std::string alerts = trail.Finish(seconds);
  return fmt::format(
      "{{\n  \"kind\": \"alerts\",\n  \"version\": 1,\n  \"input\": {},\n  \"source\": {},\n"
      "  \"width\": {},\n  \"height\": {},\n  \"frames\": {},\n  \"network\": {},\n"
      "  \"score\": {:g},\n  \"votes\": {{\"seen\": {}, \"of\": {}}},\n  \"alerts\": {}\n}}\n",
      quoted(plan.input.filename().string()), quoted(FingerprintOf(plan.input)), plan.first.width,
      plan.first.height, trail.frames(),
      quoted(std::string(FindNetwork("alert", plan.first.network, depth)->name)),
      plan.alerts->least_score, plan.alerts->votes.seen, plan.alerts->votes.of, alerts);
}

}  // namespace fettle::enhance
