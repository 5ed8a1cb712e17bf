// Text to graph. The text may come from anywhere: nothing here trusts a size or a depth.
#include <unordered_map>

#include "ir/elements.h"
#include "ir/lexer.h"
#include "ir/parse_value.h"
#include "ir/text.h"

namespace fettle::ir {
namespace {

constexpr int kMaxDepth = 16;

/// What all nested parsers of one text share.
struct Session {
  Lexer lexer;
  OpTable table;
  NoiseHints* hints;
  int64_t noise_left = kMaxNoiseElements;  // of constants
};

class GraphParser {
 public:
  GraphParser(Session& session, int depth)
      : session_(session), lexer_(session.lexer), depth_(depth) {}

  /// Reads lines until the end of the text, or `end` in a sub-graph.
  Result<Graph> Run() {
    RETURN_IF_ERROR(ParseHeader());
    while (true) {
      lexer_.SkipBlanks(true);
      if (lexer_.AtEnd()) {
        if (depth_ > 0) return lexer_.Fail("a sub-graph has no 'end'");
        return std::move(graph_);
      }
      const size_t begin = lexer_.position();
      const std::string_view word = lexer_.Run();
      if (word == "end" && depth_ > 0) return std::move(graph_);
      if (word == "input") {
        RETURN_IF_ERROR(ParseInput());
      } else if (word == "const") {
        RETURN_IF_ERROR(ParseConstantLine());
      } else if (word == "output") {
        ASSIGN_OR_RETURN(const ValueId id, ParseOperand());
        if (id == kAbsent) return lexer_.Fail("a graph output cannot be left out");
        graph_.outputs.push_back(id);
      } else {
        lexer_.Rewind(begin);
        RETURN_IF_ERROR(ParseNode());
      }
      RETURN_IF_ERROR(lexer_.ExpectLineEnd());
    }
  }

 private:
  Status ParseHeader() {
    lexer_.SkipBlanks(true);
    const size_t begin = lexer_.position();
    if (lexer_.Run() != "graph") {
      lexer_.Rewind(begin);
      return OkStatus();
    }
    lexer_.SkipBlanks();
    if (lexer_.Peek() == '\'') {
      ASSIGN_OR_RETURN(graph_.name, lexer_.Quoted('\''));
    }
    return lexer_.ExpectLineEnd();
  }

  /// `%name`, its key in the table of names.
  Result<std::string> ParseName() {
    RETURN_IF_ERROR(lexer_.Expect('%'));
    if (lexer_.Peek() != '\'') return lexer_.Word();
    ASSIGN_OR_RETURN(std::string name, lexer_.Quoted('\''));
    if (name.empty()) return lexer_.Fail("expected a name");
    // A quoted name may look like an anonymous one; a NUL keeps the two apart in the table.
    return name[0] == '#' ? std::string(1, '\0') + name : name;
  }

  Result<ValueId> Define(const std::string& key, ValueType type) {
    const auto id = static_cast<ValueId>(graph_.values().size());
    if (!names_.emplace(key, id).second) return lexer_.Fail("value '{}' is defined twice", key);
    Value value;
    if (key[0] != '#') value.name = key[0] == '\0' ? key.substr(1) : key;
    value.dtype = type.dtype;
    value.shape = std::move(type.shape);
    value.symbols = std::move(type.symbols);
    return graph_.AddValue(std::move(value));
  }

  Status ParseInput() {
    ASSIGN_OR_RETURN(const std::string key, ParseName());
    ValueType type;
    if (lexer_.Take(':')) {
      ASSIGN_OR_RETURN(type, ParseType(lexer_));
    }
    ASSIGN_OR_RETURN(const ValueId id, Define(key, std::move(type)));
    graph_.inputs.push_back(id);
    if (!lexer_.Take('=')) return OkStatus();
    if (lexer_.Run() != "noise") return lexer_.Fail("expected noise(low, high)");
    ASSIGN_OR_RETURN(const NoiseRange range, ParseNoiseRange(lexer_));
    if (session_.hints != nullptr && depth_ == 0) (*session_.hints)[graph_.value(id).name] = range;
    return OkStatus();
  }

  Status ParseConstantLine() {
    ASSIGN_OR_RETURN(const std::string key, ParseName());
    RETURN_IF_ERROR(lexer_.Expect(':'));
    ASSIGN_OR_RETURN(Constant constant, ParseConstant(lexer_, key, session_.noise_left));
    ASSIGN_OR_RETURN(const ValueId id, Define(key, {constant.dtype(), constant.shape(), {}}));
    graph_.value(id).constant = std::make_shared<const Constant>(std::move(constant));
    return OkStatus();
  }

  Result<ValueId> ParseOperand() {
    lexer_.SkipBlanks();
    if (lexer_.Peek() != '%') {
      if (lexer_.Run() == "_") return kAbsent;
      return lexer_.Fail("expected a value or '_'");
    }
    ASSIGN_OR_RETURN(const std::string key, ParseName());
    const auto it = names_.find(key);
    if (it == names_.end()) return lexer_.Fail("value '{}' is not defined", key);
    return it->second;
  }

  struct Output {
    std::string key;  // empty: unused
    ValueType type;
  };

  Result<std::vector<Output>> ParseOutputs() {
    std::vector<Output> outputs;
    do {
      Output output;
      lexer_.SkipBlanks();
      if (lexer_.Peek() == '_') {
        if (lexer_.Run() != "_") return lexer_.Fail("expected a value or '_'");
      } else {
        ASSIGN_OR_RETURN(output.key, ParseName());
        if (lexer_.Take(':')) {
          ASSIGN_OR_RETURN(output.type, ParseType(lexer_));
        }
      }
      outputs.push_back(std::move(output));
    } while (lexer_.Take(','));
    RETURN_IF_ERROR(lexer_.Expect('='));
    return outputs;
  }

  Status ParseNode() {
    std::vector<Output> outputs;
    lexer_.SkipBlanks();
    const size_t begin = lexer_.position();
    const bool skips = lexer_.Run() == "_";
    lexer_.Rewind(begin);
    if (skips || lexer_.Peek() == '%') {
      ASSIGN_OR_RETURN(outputs, ParseOutputs());
    }
    Node node;
    ASSIGN_OR_RETURN(const std::string op, lexer_.Word());
    node.op = session_.table(op);
    if (!node.op) return lexer_.At(Unsupported("operator '{}' is not supported", op));
    RETURN_IF_ERROR(lexer_.Expect('('));
    while (!lexer_.Take(')')) {
      if (!node.inputs.empty()) RETURN_IF_ERROR(lexer_.Expect(','));
      ASSIGN_OR_RETURN(const ValueId id, ParseOperand());
      node.inputs.push_back(id);
    }
    if (lexer_.Take('{')) RETURN_IF_ERROR(ParseAttributes(node.attributes));
    for (Output& output : outputs) {
      ValueId id = kAbsent;
      if (!output.key.empty()) {
        ASSIGN_OR_RETURN(id, Define(output.key, std::move(output.type)));
      }
      node.outputs.push_back(id);
    }
    graph_.AddNode(std::move(node));
    return OkStatus();
  }

  Status ParseAttributes(Attributes& attributes) {
    bool first = true;
    while (!lexer_.Take('}', true)) {
      if (!first) RETURN_IF_ERROR(lexer_.Expect(',', true));
      first = false;
      lexer_.SkipBlanks(true);
      ASSIGN_OR_RETURN(const std::string name, lexer_.Word());
      RETURN_IF_ERROR(lexer_.Expect('='));
      lexer_.SkipBlanks(true);
      if (attributes.Has(name)) return lexer_.Fail("attribute '{}' is set twice", name);
      ASSIGN_OR_RETURN(Attribute attribute, ParseAttribute(name));
      attributes.Set(name, std::move(attribute));
    }
    return OkStatus();
  }

  Result<Attribute> ParseAttribute(const std::string& name) {
    if (lexer_.Peek() == '"') {
      ASSIGN_OR_RETURN(std::string text, lexer_.Quoted('"'));
      return Attribute(std::move(text));
    }
    if (lexer_.Peek() == '[') return ParseList("");
    const size_t begin = lexer_.position();
    const std::string_view word = lexer_.Run();
    if (word == "ints" || word == "floats" || word == "strings") return ParseList(word);
    if (word == "const") {
      ASSIGN_OR_RETURN(Constant constant, ParseConstant(lexer_, name, session_.noise_left));
      return Attribute(std::move(constant));
    }
    if (word == "graph") {
      lexer_.Rewind(begin);
      if (depth_ + 1 >= kMaxDepth) return lexer_.Fail("sub-graphs nest too deeply");
      ASSIGN_OR_RETURN(Graph graph, GraphParser(session_, depth_ + 1).Run());
      return Attribute(std::make_shared<const Graph>(std::move(graph)));
    }
    return ParseNumber(word);
  }

  Result<Attribute> ParseNumber(std::string_view word) {
    if (const Result<int64_t> number = ReadInt(word); number.ok()) return Attribute(*number);
    const Result<double> number = ReadFloat(word);
    if (!number.ok()) return lexer_.At(number.status());
    return Attribute(*number);
  }

  /// A list in brackets; `type` may be empty where there are elements to tell it.
  Result<Attribute> ParseList(std::string_view type) {
    RETURN_IF_ERROR(lexer_.Expect('['));
    std::vector<int64_t> ints;
    std::vector<double> floats;
    std::vector<std::string> texts;
    bool all_ints = type != "floats";
    for (bool first = true; !lexer_.Take(']'); first = false) {
      if (!first) RETURN_IF_ERROR(lexer_.Expect(','));
      lexer_.SkipBlanks();
      ASSIGN_OR_RETURN(const Attribute item, ParseItem());
      if (const auto* text = std::get_if<std::string>(&item)) {
        texts.push_back(*text);
      } else if (const auto* integer = std::get_if<int64_t>(&item)) {
        ints.push_back(*integer);
        floats.push_back(static_cast<double>(*integer));
      } else {
        floats.push_back(std::get<double>(item));
        all_ints = false;
      }
    }
    if (!texts.empty() || type == "strings") {
      if (!floats.empty()) return lexer_.Fail("a list mixes texts and numbers");
      return Attribute(std::move(texts));
    }
    if (floats.empty() && type.empty()) return lexer_.Fail("an empty list needs its type");
    if (type == "ints" && !all_ints) return lexer_.Fail("expected integers");
    if (all_ints) return Attribute(std::move(ints));
    return Attribute(std::move(floats));
  }

  Result<Attribute> ParseItem() {
    if (lexer_.Peek() != '"') return ParseNumber(lexer_.Run());
    ASSIGN_OR_RETURN(std::string text, lexer_.Quoted('"'));
    return Attribute(std::move(text));
  }

  Session& session_;
  Lexer& lexer_;
  int depth_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> names_;
};

}  // namespace

Result<Graph> Parse(std::string_view text, OpTable table, NoiseHints* hints) {
  Session session{Lexer(text), table, hints};
  return GraphParser(session, 0).Run();
}

}  // namespace fettle::ir
