// Conversations as the texts that models were trained on.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::language {

/// One question (and a system message, which may be empty) in the form that `chat_template`, a
/// file's 'tokenizer.chat_template', asks for, up to where the answer begins: one of a dozen forms
/// (chat.cc), told by their marks. Without a system message, that of a ChatML template where it has
/// one. kUnsupported where the template is none of them.
Result<std::string> ChatPrompt(std::string_view chat_template, std::string_view system,
                               std::string_view question);

}  // namespace fettle::language
