// Conversations in the text form that a model was trained on.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::language {

/// One question (and a system message, which may be empty) in the form of `chat_template`, a file's
/// 'tokenizer.chat_template', up to where the answer begins. The form is one of a dozen (chat.cc),
/// recognised by their marks. Without a system message the one of a ChatML template is used, if it
/// has one. kUnsupported for other templates.
Result<std::string> ChatPrompt(std::string_view chat_template, std::string_view system,
                               std::string_view question);

}  // namespace fettle::language
