// Graph to text.
#include <unordered_set>

#include "ir/elements.h"
#include "ir/text.h"

namespace fettle::ir {
namespace {

bool IsPlainWord(std::string_view word) {
  if (word.empty() || word == "_" || word[0] == '#') return false;
  for (char c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '/' || c == '-';
    if (!plain) return false;
  }
  return true;
}

std::string Quote(std::string_view text, char mark) {
  std::string quoted(1, mark);
  for (char c : text) {
    if (c == mark || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + mark;
}

std::string Word(std::string_view word) {
  return IsPlainWord(word) ? std::string(word) : Quote(word, '\'');
}

std::string TypeText(DType dtype, const std::optional<Shape>& shape,
                     const std::vector<std::string>& symbols) {
  std::string text(DTypeName(dtype));
  if (!shape) return text;
  text += '[';
  for (int axis = 0; axis < shape->rank(); ++axis) {
    if (axis > 0) text += 'x';
    text += (*shape)[axis] < 0 ? "?" : fmt::format("{}", (*shape)[axis]);
    const size_t at = axis;
    if (at < symbols.size() && !symbols[at].empty()) text += Quote(symbols[at], '\'');
  }
  return text + ']';
}

/// ": type", or nothing where neither type nor shape is known.
std::string TypeSuffix(const Value& value) {
  if (value.dtype == DType::kUndefined && !value.shape) return "";
  return ": " + TypeText(value.dtype, value.shape, value.symbols);
}

/// " = contents", or nothing where there are too many.
std::string Contents(const Constant& constant) {
  const DType dtype = constant.dtype();
  if (!IsStored(dtype) || constant.source() != nullptr || constant.raw_bytes().empty()) return "";
  if (constant.is_splat()) return " = splat " + ElementText(dtype, constant.bytes().data());
  if (constant.elements() > kInlineElements) return "";
  const std::byte* bytes = constant.bytes().data();
  std::string text = " =";
  for (int64_t i = 0; i < constant.elements(); ++i) {
    text += ' ' + ElementText(dtype, bytes + StorageBytes(dtype, i));
  }
  return text;
}

class Printer {
 public:
  Printer(const Graph& graph, int indent, std::string& out)
      : graph_(graph), margin_(indent, ' '), out_(out), names_(graph.values().size()) {}

  void Run() {
    Line("graph " + Quote(graph_.name, '\''));
    IdVector<ValueId, bool> is_input(graph_.values().size());
    for (ValueId id : graph_.inputs) {
      is_input[id] = true;
      Line("input " + Name(id) + TypeSuffix(graph_.value(id)));
    }
    for (ValueId id : graph_.values().ids()) {
      const Value& value = graph_.value(id);
      if (!value.is_constant() || is_input[id]) continue;
      const Constant& constant = *value.constant;
      Line("const " + Name(id) + ": " + TypeText(constant.dtype(), constant.shape(), {}) +
           Contents(constant));
    }
    for (const Node& node : graph_.nodes()) {
      if (!node.dead) PrintNode(node);
    }
    for (ValueId id : graph_.outputs) Line("output " + Name(id));
  }

 private:
  void Line(const std::string& text) { out_ += margin_ + text + "\n"; }

  /// The first value of a name keeps it; anonymous ones are numbered in the order of printing, so
  /// that text survives a round trip unchanged.
  std::string Name(ValueId id) {
    if (id == kAbsent) return "_";
    std::string& name = names_[id];
    if (!name.empty()) return name;
    const std::string& own = graph_.value(id).name;
    if (!own.empty() && taken_.insert(own).second) {
      name = "%" + Word(own);
    } else {
      name = fmt::format("%#{}", anonymous_++);
    }
    return name;
  }

  std::string Names(const std::vector<ValueId>& ids, bool typed) {
    std::string text;
    for (ValueId id : ids) {
      if (!text.empty()) text += ", ";
      text += Name(id);
      if (typed && id != kAbsent) text += TypeSuffix(graph_.value(id));
    }
    return text;
  }

  void PrintNode(const Node& node) {
    std::string line = Names(node.outputs, true);
    if (!line.empty()) line += " = ";
    line += Word(node.op.name()) + "(" + Names(node.inputs, false) + ")";
    if (!node.attributes.items().empty()) {
      line += " {";
      for (const auto& [name, attribute] : node.attributes.items()) {
        if (line.back() != '{') line += ", ";
        line += Word(name) + "=" + AttributeText(attribute);
      }
      line += "}";
    }
    Line(line);
  }

  template <typename T, typename F>
  static std::string List(std::string_view type, const std::vector<T>& items, F&& text) {
    std::string list = items.empty() ? std::string(type) : "";
    list += '[';
    for (const T& item : items) {
      if (list.back() != '[') list += ',';
      list += text(item);
    }
    return list + ']';
  }

  std::string AttributeText(const Attribute& attribute) {
    if (const auto* i = std::get_if<int64_t>(&attribute)) return fmt::format("{}", *i);
    if (const auto* f = std::get_if<double>(&attribute)) return FloatText(*f);
    if (const auto* s = std::get_if<std::string>(&attribute)) return Quote(*s, '"');
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) {
      return List("ints", *ints, [](int64_t i) { return fmt::format("{}", i); });
    }
    if (const auto* floats = std::get_if<std::vector<double>>(&attribute)) {
      return List("floats", *floats, FloatText);
    }
    if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
      return List("strings", *texts, [](const std::string& s) { return Quote(s, '"'); });
    }
    if (const auto* constant = std::get_if<Constant>(&attribute)) {
      return "const " + TypeText(constant->dtype(), constant->shape(), {}) + Contents(*constant);
    }
    const auto& graph = std::get<std::shared_ptr<const Graph>>(attribute);
    std::string text = "\n";
    const int indent = static_cast<int>(margin_.size()) + 2;
    Printer(graph == nullptr ? Graph() : *graph, indent, text).Run();
    return text + margin_ + "  end";
  }

  const Graph& graph_;
  std::string margin_;
  std::string& out_;
  std::unordered_set<std::string_view> taken_;
  IdVector<ValueId, std::string> names_;
  int anonymous_ = 0;
};

}  // namespace

std::string Print(const Graph& graph) {
  std::string text;
  Printer(graph, 0, text).Run();
  return text;
}

}  // namespace fettle::ir
