#include "tuner/network/slot_space.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/log.h"
#include "kernels/launch_tunables.h"

namespace fettle::tuner {
namespace {

constexpr size_t kNeighbours = 4;
constexpr std::string_view kGroupPrefix = "group_", kRelaxed = "fast_math";

kernels::Params ParamsAt(const std::vector<Parameter>& parameters,
                         const std::vector<bool>& of_launch, const Point& point) {
  kernels::Params params;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int64_t value = std::get<int64_t>(parameters[i].values[point[i]]);
    if (!of_launch[i] || value != 0) params.emplace(parameters[i].name, value);
  }
  return params;
}

}  // namespace

bool SlotScope::Allows(const kernels::Params& params) const {
  return relaxed_math || !params.contains(kRelaxed);
}

class SlotSpace::Maker {
 public:
  Maker(const std::shared_ptr<const kernels::Match>& match, int states, int threads,
        const Device& device, const SlotScope& scope)
      : match_(match), usual_{states, threads, {}}, device_(device), scope_(scope) {}

  std::optional<SlotSpace> Run() {
    own_ = match_->params(usual_.states, usual_.threads);
    usual_.params = own_.usual;
    auto prepared = kernels::PrepareWithLaunches(*match_, usual_, device_);
    if (!prepared.ok()) return std::nullopt;
    prepared_ = std::move(*prepared);
    launches_ = kernels::LaunchesOf(*prepared_);
    ListDimensions();
    if (std::none_of(dimensions_.begin(), dimensions_.end(),
                     [](const Dimension& one) { return one.values.size() > 1; }))
      return std::nullopt;
    Result<SearchSpace> space = MakeSpace();
    if (!space.ok()) {
      Log(LogLevel::kWarn, "parameters of a kernel cannot be searched: {}",
          space.status().message());
      return std::nullopt;
    }
    SlotSpace made(std::move(*space));
    made.match_ = match_;
    for (const Dimension& one : dimensions_) made.of_launch_.push_back(one.of_launch);
    AddRules(made);
    AddNeighbours(made);
    return made;
  }

 private:
  bool Varies(const std::string& name) const {
    if (name == kRelaxed && !scope_.relaxed_math) return false;
    return scope_.compiles || device_.kind() == DeviceKind::kCpu || name.starts_with(kGroupPrefix);
  }

  /// One parameter of a slot.
  struct Dimension {
    std::string name;
    std::set<int64_t> values;
    bool of_launch = false;
  };

  Dimension& DimensionOf(const std::string& name) {
    const auto found = std::find_if(dimensions_.begin(), dimensions_.end(),
                                    [&](const Dimension& one) { return one.name == name; });
    return found != dimensions_.end() ? *found
                                      : dimensions_.emplace_back(Dimension{name, {}, false});
  }

  void ListDimensions() {
    for (const auto& [name, value] : own_.usual) DimensionOf(name).values.insert(value);
    for (const kernels::Tunable& tunable : own_.tunables) {
      Dimension& dimension = DimensionOf(tunable.name);
      if (dimension.values.empty() || Varies(tunable.name))
        dimension.values.insert(tunable.values.begin(), tunable.values.end());
    }
    if (launches_ == nullptr) return;
    for (const kernels::Tunable& tunable : launches_->launch_tunables()) {
      if (!Varies(tunable.name)) continue;
      const bool is_own = own_.usual.contains(tunable.name);
      Dimension& dimension = DimensionOf(tunable.name);
      dimension.of_launch = !is_own;
      for (int64_t value : tunable.values)
        if (!is_own || value != 0) dimension.values.insert(value);
    }
  }

  Result<SearchSpace> MakeSpace() const {
    std::vector<Parameter> parameters;
    std::vector<bool> of_launch;
    for (const Dimension& one : dimensions_) {
      parameters.push_back({one.name, {one.values.begin(), one.values.end()}});
      of_launch.push_back(one.of_launch);
    }
    // Asked for the same points again and again, and kernels parse their group each time.
    auto known = std::make_shared<std::unordered_map<uint64_t, bool>>();
    const auto is_valid = [=, check = own_.check, prepared = prepared_,
                           launches = launches_](const Point& point) {
      uint64_t index = 0;
      for (size_t i = 0; i < point.size(); ++i)
        index = index * parameters[i].values.size() + static_cast<uint64_t>(point[i]);
      const auto [at, is_new] = known->emplace(index, false);
      if (!is_new) return at->second;
      const kernels::Params params = ParamsAt(parameters, of_launch, point);
      at->second =
          (!check || check(params).ok()) &&
          (launches == nullptr || (prepared != nullptr && launches->CheckLaunch(params).ok()));
      return at->second;
    };
    return SearchSpace::Create(parameters, {}, is_valid);
  }

  void AddRules(SlotSpace& made) const {
    if (launches_ == nullptr) return;
    for (const kernels::RuleParams& rule : launches_->launch_rules()) {
      planner::Proposal proposal{own_.usual, std::string(rule.rule), false};
      for (const auto& [name, value] : rule.params) proposal.params[name] = value;
      if (made.PointOf(proposal.params)) made.rules_.push_back(std::move(proposal));
    }
  }

  void AddNeighbours(SlotSpace& made) const {
    for (const bool up : {true, false}) {
      for (const Dimension& one : dimensions_) {
        const auto now = own_.usual.find(one.name);
        if (now == own_.usual.end() || made.neighbours_.size() >= kNeighbours) continue;
        const auto at = one.values.find(now->second);
        if (up ? std::next(at) == one.values.end() : at == one.values.begin()) continue;
        planner::Proposal proposal{own_.usual, "neighbour", false};
        proposal.params[one.name] = *(up ? std::next(at) : std::prev(at));
        if (made.PointOf(proposal.params)) made.neighbours_.push_back(std::move(proposal));
      }
    }
  }

  const std::shared_ptr<const kernels::Match>& match_;
  kernels::Setting usual_;
  const Device& device_;
  const SlotScope& scope_;
  kernels::ParamSpace own_;
  std::shared_ptr<kernels::PreparedKernel> prepared_;
  const kernels::TunableLaunches* launches_ = nullptr;  // of prepared_
  std::vector<Dimension> dimensions_;
};

std::optional<SlotSpace> SlotSpace::Create(const std::shared_ptr<const kernels::Match>& match,
                                           int states, int threads, const Device& device,
                                           const SlotScope& scope) {
  return Maker(match, states, threads, device, scope).Run();
}

kernels::Params SlotSpace::ParamsOf(const Point& point) const {
  return ParamsAt(space_.parameters(), of_launch_, point);
}

std::optional<Point> SlotSpace::PointOf(const kernels::Params& params) const {
  Point point;
  size_t named = 0;
  for (size_t i = 0; i < space_.parameters().size(); ++i) {
    const Parameter& parameter = space_.parameters()[i];
    const auto given = params.find(parameter.name);
    if (given == params.end() && !of_launch_[i]) return std::nullopt;
    named += given == params.end() ? 0 : 1;
    const Value value = given == params.end() ? int64_t{0} : given->second;
    const auto at = std::find(parameter.values.begin(), parameter.values.end(), value);
    if (at == parameter.values.end()) return std::nullopt;
    point.push_back(static_cast<int>(at - parameter.values.begin()));
  }
  if (named != params.size() || !space_.Valid(point)) return std::nullopt;
  return point;
}

}  // namespace fettle::tuner
