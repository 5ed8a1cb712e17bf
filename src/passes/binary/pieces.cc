#include "passes/binary/pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

constexpr float kNoEnd = std::numeric_limits<float>::infinity();
/// Operators of a function; estimators have up to twenty.
constexpr size_t kMostNodes = 48;

/// All numbers from low to high; none where these are NaN.
struct Interval {
  float low = NAN, high = NAN;
  bool is_empty() const { return std::isnan(low); }
  bool is(float value) const { return low == value && high == value; }
};

/// Of results at ends, some of which may be no numbers.
Interval Around(std::initializer_list<float> ends) {
  Interval all;
  for (const float end : ends) {
    if (std::isnan(end)) continue;
    all.low = all.is_empty() ? end : std::min(all.low, end);
    all.high = std::isnan(all.high) ? end : std::max(all.high, end);
  }
  return all;
}

/// 1 where a < b (or a <= b), 0 where not, both where it depends.
Interval IsLess(const Interval& a, const Interval& b, bool or_equal) {
  const bool always = or_equal ? a.high <= b.low : a.high < b.low;
  const bool never = or_equal ? a.low > b.high : a.low >= b.high;
  return {always ? 1.F : 0.F, never ? 0.F : 1.F};
}

class Function {
 public:
  Function(const ir::Graph& graph, const ProducerList& producers, ir::ValueId v)
      : graph_(graph), producers_(producers), v_(v) {}

  /// The operators that compute `id`, in order, and the numbers that v is compared with; false
  /// where it is made of more.
  bool Collect(ir::ValueId id) {
    if (id == v_ || numbers_.contains(id) || Knows(id)) return true;
    if (id == ir::kAbsent || nodes_.size() >= kMostNodes) return false;
    if (const Constant* constant = ConstantOf(graph_, id)) {
      const std::optional<double> number = UniformValue(*constant);
      if (!number) return false;
      numbers_[id] = static_cast<float>(*number);
      return static_cast<double>(numbers_[id]) == *number;
    }
    const ir::NodeId producer = producers_[id];
    if (producer < 0 || ++depth_ > static_cast<int>(kMostNodes)) return false;
    const ir::Node& node = graph_.node(producer);
    if (!IsKnown(node)) return false;
    for (ir::ValueId input : node.inputs)
      if (!Collect(input)) return false;
    --depth_;
    nodes_.push_back(producer);
    for (size_t i = 0; i < 2 && node.inputs.size() == 2; ++i) {
      if (const auto it = numbers_.find(node.inputs[i]); it != numbers_.end() && IsComparison(node))
        cuts_.push_back(std::fabs(it->second));
    }
    return true;
  }

  /// Magnitudes that pieces begin with: quarters of octaves, comparisons and what follows them.
  std::vector<float> Starts() const {
    std::vector<float> starts = {kNoEnd};
    for (int exponent = -149; exponent < 128; ++exponent) {
      for (float part : {1.F, 1.25F, 1.5F, 1.75F}) starts.push_back(std::ldexp(part, exponent));
    }
    for (float cut : cuts_) {
      starts.push_back(cut);
      starts.push_back(std::nextafter(cut, kNoEnd));
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::erase_if(starts, [](float start) { return !(start > 0); });
    return starts;
  }

  Interval At(const Interval& v, ir::ValueId result) const {
    std::map<ir::ValueId, Interval> known;
    known[v_] = v;
    for (const auto& [id, number] : numbers_) known[id] = {number, number};
    for (ir::NodeId id : nodes_) {
      const ir::Node& node = graph_.node(id);
      known[node.outputs[0]] = Compute(node, known);
    }
    return known[result];
  }

 private:
  bool Knows(ir::ValueId id) const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [&](ir::NodeId node) { return graph_.node(node).outputs[0] == id; });
  }

  static bool IsComparison(const ir::Node& node) {
    return node.op == "Less"_op || node.op == "LessOrEqual"_op || node.op == "Greater"_op ||
           node.op == "GreaterOrEqual"_op;
  }

  bool IsKnown(const ir::Node& node) const {
    const DType type = graph_.value(node.outputs[0]).dtype;
    if (IsComparison(node)) return true;
    if (type != DType::kF32 && type != DType::kBool) return false;
    if (node.op == "Cast"_op) {
      const DType from = graph_.value(node.inputs[0]).dtype;
      return from == type || (from == DType::kBool && type == DType::kF32);
    }
    return node.op == "Where"_op || node.op == "Neg"_op || node.op == "Add"_op ||
           node.op == "Sub"_op || node.op == "Mul"_op;
  }

  Interval Compute(const ir::Node& node, const std::map<ir::ValueId, Interval>& known) const {
    const auto at = [&](size_t i) { return known.at(node.inputs[i]); };
    const Interval a = at(0);
    if (a.is_empty() || node.op == "Cast"_op) return a;
    if (node.op == "Neg"_op) return {-a.high, -a.low};
    const Interval b = at(1);
    if (node.op == "Where"_op) {
      const Interval c = at(2);
      if (a.is(1)) return b;
      if (a.is(0)) return c;
      return Around({b.low, b.high, c.low, c.high});
    }
    if (b.is_empty()) return b;
    if (node.op == "Less"_op || node.op == "LessOrEqual"_op)
      return IsLess(a, b, node.op == "LessOrEqual"_op);
    if (node.op == "Greater"_op || node.op == "GreaterOrEqual"_op)
      return IsLess(b, a, node.op == "GreaterOrEqual"_op);
    if (node.op == "Add"_op) return Around({a.low + b.low, a.high + b.high});
    if (node.op == "Sub"_op) return Around({a.low - b.high, a.high - b.low});
    return Around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  }

  const ir::Graph& graph_;
  const ProducerList& producers_;
  ir::ValueId v_;
  int depth_ = 0;
  std::vector<ir::NodeId> nodes_;
  std::map<ir::ValueId, float> numbers_;
  std::vector<float> cuts_;
};

}  // namespace

bool HasSignWithinTwo(const ir::Graph& graph, const ProducerList& producers, ir::ValueId c,
                      ir::ValueId v) {
  Function function(graph, producers, v);
  if (graph.value(v).dtype != DType::kF32 || graph.value(c).dtype != DType::kF32 ||
      !function.Collect(c))
    return false;
  const auto is_within = [&](const Interval& at, float low, float high) {
    const Interval result = function.At(at, c);
    return result.is_empty() || (result.low >= low && result.high <= high);
  };
  if (!is_within({0, 0}, 0, 0)) return false;
  const std::vector<float> starts = function.Starts();
  for (size_t i = 0; i < starts.size(); ++i) {
    const float first = starts[i];
    const float last = i + 1 < starts.size() ? std::nextafter(starts[i + 1], 0.F) : first;
    if (!is_within({first, last}, 0, 2) || !is_within({-last, -first}, -2, 0)) return false;
  }
  return true;
}

}  // namespace fettle::passes
