// fettle inspect: what a model holds, and everything in it that Fettle cannot run.
#include <fmt/core.h>

#include "commands/command.h"
#include "importers/onnx/importer.h"
#include "jobs/command_line.h"
#include "jobs/inspection.h"
#include "jobs/job.h"
#include "report/package_facts.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

struct InspectOptions {
  CommonOptions common;
  std::string model;
  bool strict = false, binary_lenient = false;
  bool ops = false;
  bool tensors = false;
  bool binary = false;
};

/// "1x3xHEIGHTxWIDTH": symbols where the model has them, '?' for unnamed extents.
std::string ShapeText(const ir::Value& value) {
  if (!value.shape) return "unknown";
  if (value.shape->rank() == 0) return "scalar";
  std::string text;
  for (int i = 0; i < value.shape->rank(); ++i) {
    const int64_t extent = (*value.shape)[i];
    const auto at = static_cast<size_t>(i);
    std::string part = "?";
    if (extent >= 0) part = fmt::format("{}", extent);
    if (extent < 0 && at < value.symbols.size() && !value.symbols[at].empty())
      part = value.symbols[at];
    text += (i == 0 ? "" : "x") + part;
  }
  return text;
}

Json ValueJson(const ir::Value& value) {
  Json shape = Json::array();
  const int rank = value.shape ? value.shape->rank() : 0;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    if ((*value.shape)[i] >= 0) {
      shape.push_back((*value.shape)[i]);
    } else {
      shape.push_back(at < value.symbols.size() && !value.symbols[at].empty()
                          ? Json(value.symbols[at])
                          : Json(nullptr));
    }
  }
  return {{"name", value.name},
          {"dtype", DTypeName(value.dtype)},
          {"shape", value.shape ? shape : Json(nullptr)}};
}

/// The items of a message such as "2 unsupported operators: Foo (opset 13, ...), Bar (opset 1,
/// ...)".
std::vector<std::string> UnsupportedItems(const std::string& message) {
  const size_t title = message.find("unsupported operator"), colon = message.find(": ", title);
  if (title == std::string::npos || colon == std::string::npos) return {message};
  std::vector<std::string> items;
  size_t begin = colon + 2;
  // A comma may stand inside a reason too; the next item is a name and its opset.
  for (size_t end = message.find("), ", begin); end != std::string::npos;
       end = message.find("), ", end + 1)) {
    const size_t blank = message.find(' ', end + 3);
    if (blank == std::string::npos || message.compare(blank, 8, " (opset ") != 0) continue;
    items.push_back(message.substr(begin, end + 1 - begin));
    begin = end + 3;
  }
  items.push_back(message.substr(begin));
  return items;
}

/// `unsupported`: OK, or what keeps the model from running.
void PrintJsonInspection(const InspectOptions& options, const runtime::Model& model,
                         const Inspection& inspection, const Status& unsupported,
                         const std::vector<std::string>& warnings) {
  const ir::Graph& graph = model.graph();
  Json document = {{"model", options.model},
                   {"inputs", Json::array()},
                   {"outputs", Json::array()},
                   {"ops", Json::object()}};
  for (ir::ValueId id : graph.inputs) document["inputs"].push_back(ValueJson(graph.value(id)));
  for (ir::ValueId id : graph.outputs) document["outputs"].push_back(ValueJson(graph.value(id)));
  for (const ir::Node& node : model.imported_graph().nodes()) {
    Json& count = document["ops"][node.op];
    count = count.is_null() ? 1 : count.get<int64_t>() + 1;
  }
  document["params"] = model.parameters();
  document["macs"] = inspection.macs;
  document["bytes"] = inspection.bytes;
  document["weight_bytes"] = model.weight_bytes();
  document["unsupported"] =
      unsupported.ok() ? Json::array() : Json(UnsupportedItems(unsupported.message()));
  document["in_floats"] = Json::array();
  for (const auto& [node, op, reason] : inspection.in_floats)
    document["in_floats"].push_back({{"node", node}, {"op", op}, {"reason", reason}});
  if (options.binary) {
    document["binary"] = Json::array();
    for (const auto& [node, op, is_binary, text] : inspection.on_bits)
      document["binary"].push_back(
          {{"node", node}, {"op", op}, {"on_bits", is_binary}, {"text", text}});
  }
  for (const auto& [name, shape] : inspection.shapes)
    document["input_shapes"][name] = ShapeJson(shape);
  if (options.tensors) {
    for (const ir::Value& value : model.imported_graph().values()) {
      Json entry = ValueJson(value);
      entry["constant"] = value.is_constant();
      document["tensors"].push_back(std::move(entry));
    }
  }
  if (model.package() != nullptr) document["package"] = PackageJson(*model.package());
  document["precision"] = PrecisionJson(options.common);
  document["warnings"] = warnings;
  PrintJson(document);
}

void PrintValues(const runtime::Model& model) {
  const ir::Graph& graph = model.graph();
  Table table({{"value"}, {"type"}, {.title = "shape", .narrow = Table::Narrow::kWrap}});
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    table.Row({"in  " + value.name, std::string(DTypeName(value.dtype)), ShapeText(value)});
  }
  for (ir::ValueId id : graph.outputs) {
    const ir::Value& value = graph.value(id);
    table.Row({"out " + value.name, std::string(DTypeName(value.dtype)), ShapeText(value)});
  }
  fmt::print("{}\n", table.ToString());
}

void PrintTables(const InspectOptions& options, const runtime::Model& model,
                 const Inspection& inspection) {
  PrintValues(model);
  constexpr auto kRight = Table::Align::kRight;
  Table ops({{"operator"}, {"nodes", kRight}, {"multiply-adds", kRight}, {"touched", kRight}});
  for (const auto& [name, sum] : inspection.ops) {
    ops.Row({name, fmt::format("{}", sum.nodes), sum.macs > 0 ? HumanCount(sum.macs) : "",
             sum.bytes > 0 ? HumanBytes(sum.bytes) : ""});
  }
  fmt::print("{}\n", ops.ToString());
  if (options.ops) {
    Table nodes({{"node"}, {"operator"}, {"source"}});
    for (const ir::Node& node : model.graph().nodes())
      nodes.Row({node.name, std::string(node.op), ir::Describe(node)});
    fmt::print("{}\n", nodes.ToString());
  }
  if (options.tensors) {
    Table tensors({{"tensor"}, {"type"}, {"shape"}, {"constant"}});
    for (const ir::Value& value : model.imported_graph().values())
      tensors.Row({value.name, std::string(DTypeName(value.dtype)), ShapeText(value),
                   value.is_constant() ? "yes" : ""});
    fmt::print("{}\n", tensors.ToString());
  }
  for (const auto& [node, op, reason] : inspection.in_floats)
    fmt::print("{}\n", Fit(fmt::format("in floats: {} ({}): {}", node, op, reason)));
  for (const auto& [node, op, is_binary, text] : inspection.on_bits)
    fmt::print("{}\n", Fit(fmt::format("{}: {} ({}): {}", is_binary ? "on bits" : "not on bits",
                                       node, op, text)));
  fmt::print("parameters: {} ({}), multiply-adds: {}\n",
             HumanCount(static_cast<double>(model.parameters())),
             HumanBytes(static_cast<double>(model.weight_bytes())),
             HumanCount(static_cast<double>(inspection.macs)));
  PrintParts({PrecisionLine(options.common)});
  if (model.package() != nullptr) fmt::print("\n{}", PackageText(*model.package()));
}

/// A model that cannot even be looked at for want of operators still has its JSON: all of them.
int ReportUnsupported(const InspectOptions& options, const Status& status) {
  if (options.common.json) {
    PrintJson({{"model", options.model},
               {"inputs", Json::array()},
               {"outputs", Json::array()},
               {"ops", Json::object()},
               {"params", nullptr},
               {"macs", nullptr},
               {"unsupported", UnsupportedItems(status.message())}});
  }
  return Fail(status);
}

int InspectCommand(const InspectOptions& options) {
  InstallLog(options.common.log);
  std::vector<std::string> warnings;
  const Status common = CheckCpuOptions(options.common, warnings);
  if (!common.ok()) return Fail(common);
  runtime::LoadOptions load{.strict = options.strict, .binary_lenient = options.binary_lenient};
  auto model = LoadModel(options.model, load);
  const Status unsupported = model.status();
  if (unsupported.code() == StatusCode::kUnsupported) {
    // What an unknown operator gives is an input then: all else can be looked at.
    load.unsupported_are_inputs = true;
    model = LoadModel(options.model, load);
    if (!model.ok()) return ReportUnsupported(options, unsupported);
  }
  if (!model.ok()) return Fail(model.status());
  warnings.insert(warnings.end(), (*model)->warnings().begin(), (*model)->warnings().end());
  const auto shapes = ParseShapes(options.common.shapes);
  if (!shapes.ok()) return Fail(shapes.status());
  auto inspection = Inspect(**model, *shapes, options.binary, !unsupported.ok(), warnings);
  if (!inspection.ok() && !unsupported.ok()) return ReportUnsupported(options, unsupported);
  if (!inspection.ok()) return Fail(inspection.status());
  PrintWarnings(warnings);
  if (options.common.json) {
    PrintJsonInspection(options, **model, *inspection, unsupported, warnings);
  } else {
    PrintTables(options, **model, *inspection);
  }
  return unsupported.ok() ? kExitOk : Fail(unsupported);
}

}  // namespace

void RegisterInspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* sub =
      app.add_subcommand("inspect", "show a model's inputs, outputs, operators and costs");
  AddModelOptions(*sub, options->model, options->strict, options->binary_lenient);
  sub->add_flag("--ops", options->ops, "list every node");
  sub->add_flag("--tensors", options->tensors, "list every value");
  sub->add_flag("--binary", options->binary,
                "for each convolution and product: whether it runs on bits, and why not");
  AddCommonOptions(*sub, options->common);
  MarkWithoutEffect(*sub, {"--threads", "--cache", "--no-cache", "--seed"});
  sub->callback([&action, options] { action = [options] { return InspectCommand(*options); }; });
}

}  // namespace fettle::tools
