// Concrete shapes for models with symbolic extents.
#include <algorithm>

#include "base/nearest.h"
#include "ir/value_text.h"
#include "ops/op.h"
#include "passes/specialise.h"
#include "runtime/model.h"

namespace fettle::runtime {
namespace {

constexpr int64_t kExtents[] = {1, 32, 64, 128, 224, 256, 320, 512, 576, 1024};

/// Whether shapes infer with these inputs; none of them empty where that `may_be_empty` is not.
Status TryShapes(const Model& model, const std::map<std::string, Shape>& shapes,
                 bool may_be_empty) {
  ir::Graph graph = model.graph();
  for (ir::ValueId id : graph.inputs) graph.value(id).shape = shapes.at(graph.value(id).name);
  RETURN_IF_ERROR(passes::Specialise(graph));
  if (may_be_empty) return OkStatus();
  for (const ir::Node& node : graph.nodes()) {
    for (ir::ValueId id : node.outputs) {
      if (id == ir::kAbsent || !graph.value(id).has_concrete_shape()) continue;
      if (graph.value(id).shape->elements() == 0)
        return InvalidArgument("{} is empty", ir::Describe(node));
    }
  }
  return OkStatus();
}

Status CheckGiven(const Model& model, const std::map<std::string, Shape>& given) {
  for (const auto& [name, shape] : given) {
    const ir::Graph& graph = model.graph();
    const auto input = std::find_if(
        graph.inputs.begin(), graph.inputs.end(),
        [&, &wanted = name](ir::ValueId id) { return graph.value(id).name == wanted; });
    if (input == graph.inputs.end())
      return InvalidArgument("{}: the model has no input '{}'; it has {}", model.name(), name,
                             NearestNames(name, ir::NamesOfValues(graph, graph.inputs)));
    const Status fits = ir::CheckInputShape(graph.value(*input), shape);
    if (!fits.ok()) return fits.WithContext(model.name());
  }
  return OkStatus();
}

/// What is known of symbols: those of given shapes, and 1 for any that names an axis 0.
std::map<std::string, int64_t> KnownSymbols(const ir::Graph& graph,
                                            const std::map<std::string, Shape>& given) {
  std::map<std::string, int64_t> known;
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& input = graph.value(id);
    const auto fixed = given.find(input.name);
    for (size_t axis = 0; axis < input.symbols.size(); ++axis) {
      if (input.symbols[axis].empty()) continue;
      if (fixed != given.end()) {
        known[input.symbols[axis]] = fixed->second[static_cast<int>(axis)];
      } else if (axis == 0) {
        known.emplace(input.symbols[axis], 1);
      }
    }
  }
  return known;
}

/// The inputs with every unknown extent filled in: axis 0 and its symbol with 1, others with
/// `extent`.
std::map<std::string, Shape> Fill(const ir::Graph& graph, const std::map<std::string, Shape>& given,
                                  int64_t extent) {
  const std::map<std::string, int64_t> known = KnownSymbols(graph, given);
  std::map<std::string, Shape> shapes;
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& input = graph.value(id);
    const auto fixed = given.find(input.name);
    Shape shape = fixed != given.end() ? fixed->second : input.shape.value_or(Shape{});
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] >= 0) continue;
      const size_t at = axis;
      const auto symbol = at < input.symbols.size() ? known.find(input.symbols[at]) : known.end();
      shape[axis] = symbol != known.end() ? symbol->second : axis == 0 ? 1 : extent;
    }
    shapes.emplace(input.name, shape);
  }
  return shapes;
}

std::vector<Shape> InOrder(const ir::Graph& graph, const std::map<std::string, Shape>& shapes) {
  std::vector<Shape> ordered;
  for (ir::ValueId id : graph.inputs) ordered.push_back(shapes.at(graph.value(id).name));
  return ordered;
}

void Warn(const ir::Graph& graph, const std::map<std::string, Shape>& given,
          const std::map<std::string, Shape>& chosen, std::vector<std::string>* warnings) {
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& input = graph.value(id);
    if (given.contains(input.name)) continue;
    const bool open = !input.shape || !input.shape->IsConcrete();
    if (!open) continue;
    warnings->push_back(
        fmt::format("input '{}': its shape is open; {} was chosen (set it with --shape {}=...)",
                    input.name, chosen.at(input.name).ToString(), input.name));
  }
}

}  // namespace

Status CheckSymbols(const ir::Graph& graph, std::span<const Shape> shapes) {
  struct Use {
    const ir::Value* input;
    int axis;
    int64_t extent;
  };
  std::map<std::string_view, Use> first;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ir::Value& input = graph.value(graph.inputs[i]);
    for (int axis = 0; axis < std::min<int64_t>(std::ssize(input.symbols), shapes[i].rank());
         ++axis) {
      const std::string& symbol = input.symbols[axis];
      if (symbol.empty()) continue;
      const Use& use = first.try_emplace(symbol, Use{&input, axis, shapes[i][axis]}).first->second;
      if (use.extent == shapes[i][axis]) continue;
      if (use.input == &input)
        return InvalidArgument(
            "input '{}': '{}' is one extent, but {} in axis {} and {} in axis {}", input.name,
            symbol, use.extent, use.axis, shapes[i][axis], axis);
      return InvalidArgument(
          "inputs '{}' and '{}': '{}' is one extent, but {} in axis {} of the first and {} in axis "
          "{} of the second",
          use.input->name, input.name, symbol, use.extent, use.axis, shapes[i][axis], axis);
    }
  }
  return OkStatus();
}

Result<std::map<std::string, Shape>> DefaultShapes(const Model& model,
                                                   const std::map<std::string, Shape>& given,
                                                   std::vector<std::string>* warnings) {
  RETURN_IF_ERROR(CheckGiven(model, given));
  const bool has_empty = std::any_of(
      given.begin(), given.end(), [](const auto& input) { return input.second.elements() == 0; });
  Status last;
  for (int64_t extent : kExtents) {
    std::map<std::string, Shape> shapes = Fill(model.graph(), given, extent);
    RETURN_IF_ERROR(
        CheckSymbols(model.graph(), InOrder(model.graph(), shapes)).WithContext(model.name()));
    const bool is_open = shapes != Fill(model.graph(), given, extent + 1);
    last = TryShapes(model, shapes, has_empty || !is_open);
    if (last.ok()) {
      Warn(model.graph(), given, shapes, warnings);
      return shapes;
    }
    if (!is_open)
      return InvalidArgument("{}: the inputs' shapes do not fit: {}", model.name(), last.message());
  }
  return InvalidArgument("{}: no default shape fits (name shapes with --shape): {}", model.name(),
                         last.message());
}

}  // namespace fettle::runtime
