#include "language/chat.h"

#include <fmt/format.h>

namespace fettle::language {
namespace {

/// What the template says where a conversation begins without a system message.
std::string DefaultSystem(std::string_view chat_template) {
  for (std::string_view line_end : {"\n", "\\n"}) {
    const std::string begin = std::string("'<|im_start|>system").append(line_end);
    const size_t at = chat_template.find(begin);
    if (at == std::string_view::npos) continue;
    const size_t from = at + begin.size(), to = chat_template.find("<|im_end|>", from);
    // A quote in between: the message is put together.
    if (to != std::string_view::npos) {
      const std::string_view text = chat_template.substr(from, to - from);
      if (text.find_first_of("'{") == std::string_view::npos) return std::string(text);
    }
  }
  return {};
}

}  // namespace

Result<std::string> ChatPrompt(std::string_view chat_template, std::string_view system,
                               std::string_view question) {
  const auto has = [&](std::string_view mark) {
    return chat_template.find(mark) != std::string_view::npos;
  };
  if (has("<|im_start|>")) {
    const std::string first = system.empty() ? DefaultSystem(chat_template) : std::string(system);
    const std::string before =
        first.empty() ? "" : fmt::format("<|im_start|>system\n{}<|im_end|>\n", first);
    return fmt::format("{}<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n", before,
                       question);
  }
  if (has("<|start_header_id|>")) {
    const auto turn = [](std::string_view role, std::string_view text) {
      return fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n{}<|eot_id|>", role, text);
    };
    return fmt::format("{}{}<|start_header_id|>assistant<|end_header_id|>\n\n",
                       system.empty() ? "" : turn("system", system), turn("user", question));
  }
  const std::string both =
      system.empty() ? std::string(question) : fmt::format("{}\n\n{}", system, question);
  if (has("<start_of_turn>"))
    return fmt::format("<start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n", both);
  if (has("[INST]")) return fmt::format("[INST] {} [/INST]", both);
  return Unsupported(
      "the file's chat template is none of ChatML, Llama 3, Gemma and Mistral; give the whole "
      "prompt");
}

}  // namespace fettle::language
