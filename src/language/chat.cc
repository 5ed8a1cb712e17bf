#include "language/chat.h"

#include <fmt/format.h>

namespace fettle::language {
namespace {

/// How a model was taught to read a question. A row's template has its mark, and what it has of
/// earlier rows' decides.
struct ChatForm {
  std::string_view mark;
  std::string_view begin;
  std::string_view system, system_end;  // both empty: the system message stands in the question
  std::string_view user, user_end, answer;
};
constexpr ChatForm kChatForms[] = {
    // Phi-4
    {.mark = "<|im_sep|>",
     .system = "<|im_start|>system<|im_sep|>",
     .system_end = "<|im_end|>",
     .user = "<|im_start|>user<|im_sep|>",
     .user_end = "<|im_end|>",
     .answer = "<|im_start|>assistant<|im_sep|>"},
    // ChatML
    {.mark = "<|im_start|>",
     .system = "<|im_start|>system\n",
     .system_end = "<|im_end|>\n",
     .user = "<|im_start|>user\n",
     .user_end = "<|im_end|>\n",
     .answer = "<|im_start|>assistant\n"},
    // Llama 3
    {.mark = "<|start_header_id|>",
     .system = "<|start_header_id|>system<|end_header_id|>\n\n",
     .system_end = "<|eot_id|>",
     .user = "<|start_header_id|>user<|end_header_id|>\n\n",
     .user_end = "<|eot_id|>",
     .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    // Gemma
    {.mark = "<start_of_turn>",
     .user = "<start_of_turn>user\n",
     .user_end = "<end_of_turn>\n",
     .answer = "<start_of_turn>model\n"},
    // Granite
    {.mark = "<|start_of_role|>",
     .system = "<|start_of_role|>system<|end_of_role|>",
     .system_end = "<|end_of_text|>\n",
     .user = "<|start_of_role|>user<|end_of_role|>",
     .user_end = "<|end_of_text|>\n",
     .answer = "<|start_of_role|>assistant<|end_of_role|>"},
    // DeepSeek, whose bars are of full width
    {.mark = "<｜Assistant｜>",
     .system_end = "\n\n",
     .user = "<｜User｜>",
     .answer = "<｜Assistant｜>"},
    // EXAONE 4, EXAONE 3
    {.mark = "[|user|]\n",
     .system = "[|system|]\n",
     .system_end = "[|endofturn|]\n",
     .user = "[|user|]\n",
     .user_end = "[|endofturn|]\n",
     .answer = "[|assistant|]\n"},
    {.mark = "[|user|]",
     .system = "[|system|]",
     .system_end = "[|endofturn|]\n",
     .user = "[|user|]",
     .user_end = "\n",
     .answer = "[|assistant|]"},
    // GLM-4
    {.mark = "[gMASK]",
     .begin = "[gMASK]<sop>",
     .system = "<|system|>\n",
     .user = "<|user|>\n",
     .answer = "<|assistant|>\n"},
    // Phi-4-mini, Phi-3
    {.mark = "'|>' + message['content'] + '<|end|>'",
     .system = "<|system|>",
     .system_end = "<|end|>",
     .user = "<|user|>",
     .user_end = "<|end|>",
     .answer = "<|assistant|>"},
    {.mark = "<|end|>",
     .system = "<|system|>\n",
     .system_end = "<|end|>\n",
     .user = "<|user|>\n",
     .user_end = "<|end|>\n",
     .answer = "<|assistant|>\n"},
    // Zephyr, OLMo 2
    {.mark = "<|user|>\n' + message['content'] + eos_token",
     .system = "<|system|>\n",
     .system_end = "</s>\n",
     .user = "<|user|>\n",
     .user_end = "</s>\n",
     .answer = "<|assistant|>\n"},
    {.mark = "<|user|>",
     .system = "<|system|>\n",
     .system_end = "\n",
     .user = "<|user|>\n",
     .user_end = "\n",
     .answer = "<|assistant|>\n"},
    // Mistral
    {.mark = "[INST]", .user = "[INST] ", .user_end = " [/INST]"},
};

/// Whether `text` has `mark`, whose line ends may be written as \n.
bool Has(std::string_view text, std::string_view mark) {
  if (text.find(mark) != std::string_view::npos) return true;
  std::string escaped;
  for (char c : mark) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return text.find(escaped) != std::string_view::npos;
}

/// What a ChatML template says where a conversation begins without a system message.
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
  for (const ChatForm& form : kChatForms) {
    if (!Has(chat_template, form.mark)) continue;
    const std::string first = system.empty() ? DefaultSystem(chat_template) : std::string(system);
    std::string prompt(form.begin);
    if (form.system.empty() && form.system_end.empty()) {
      prompt += form.user;
      if (!first.empty()) prompt += first + "\n\n";
    } else {
      if (!first.empty()) prompt += fmt::format("{}{}{}", form.system, first, form.system_end);
      prompt += form.user;
    }
    return prompt.append(question).append(form.user_end).append(form.answer);
  }
  return Unsupported(
      "the file's chat template is none of ChatML, DeepSeek, EXAONE, Gemma, GLM, Granite, Llama 3, "
      "Mistral, OLMo, Phi and Zephyr; give the whole prompt");
}

}  // namespace fettle::language
