# Writes OUTPUT, a C++ file with the texts of FILES (paths joined by '|', by their names) as one table. Files that are
# not there are empty texts.
set(text "// Generated: what pages are made of.\n#include \"page/page_files.h\"\n\nnamespace fettle::tools {\n\nstd::span<const PageFile> PageFiles() {\n  static const PageFile kFiles[] = {\n")
string(REPLACE "|" ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  set(body "")
  if(EXISTS "${file}")
    file(READ "${file}" body)
  endif()
  string(APPEND text "{\"${name}\", R\"page_file(${body})page_file\"},\n")
endforeach()
string(APPEND text "  };\n  return kFiles;\n}\n\n}  // namespace fettle::tools\n")
file(WRITE ${OUTPUT} "${text}")
