# Shortens the build of llama.cpp. Its CMake includes this file after each `project()`, because `.cargo/config.toml` sets
# CMAKE_PROJECT_INCLUDE and the crate `llama-cpp-sys-2` passes it on.
#
# - Of the library `common`, gage-model uses the conversion of a JSON schema into a grammar, and the crate's wrapper refers to the
#   sampler. The rest (command lines, downloads, chat formats) takes two minutes to compile, and no file that is kept refers to it.
# - A build with loadable kernels has a module for each of 14 kinds of processors. Only those that tools/model-program.sh takes are
#   compiled; the others are empty.
# - The graphs of image models are compiled as one unit, because each is smaller than the headers that it includes.
# - Shared libraries run with the libstdc++ of GCC 11, as RHEL 9 has it. GCC 12 gives one function that `common` and the kernels of
#   CUDA call a newer version.
#
# tools/cuda.sh includes this file as well.
#
# If a new version of llama.cpp needs a file that is left out, linking fails and names a symbol of it.
if(NOT PROJECT_NAME STREQUAL "llama.cpp")
  return()
endif()

function(leave_out_unused_sources)
  set(unused
    "arg" "chat" "chat-auto-parser-generator" "chat-auto-parser-helpers" "chat-diff-analyzer" "chat-peg-parser" "console" "debug"
    "download" "hf-cache" "imatrix-loader" "llguidance" "peg-parser" "preset" "subproc" "jinja/[a-z-]+" "parsers/[a-z0-9-]+")
  list(JOIN unused "|" pattern)
  get_target_property(sources llama-common SOURCES)
  list(FILTER sources EXCLUDE REGEX "(^|/common/)(${pattern})\\.cpp$")
  set_target_properties(llama-common PROPERTIES SOURCES "${sources}")
endfunction()

function(unite_image_models)
  get_target_property(sources mtmd SOURCES)
  get_target_property(folder mtmd SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "^models/.*\\.cpp$")
  list(TRANSFORM sources PREPEND "${folder}/")
  set_property(SOURCE ${sources} TARGET_DIRECTORY mtmd PROPERTY UNITY_GROUP models)
  set_target_properties(mtmd PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(empty_unused_modules)
  set(empty "${CMAKE_BINARY_DIR}/empty.cpp")
  file(WRITE "${empty}" "")
  get_property(targets DIRECTORY "${CMAKE_SOURCE_DIR}/ggml/src" PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER targets INCLUDE REGEX "^ggml-cpu-")
  list(FILTER targets EXCLUDE REGEX "^ggml-cpu-(sse42|haswell|cascadelake|armv8\\.0_1)$")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "MODULE_LIBRARY")
      set_target_properties(${target} PROPERTIES SOURCES "${empty}")
    endif()
  endforeach()
endfunction()

function(define_condition_variable_wait target)
  set(file "${CMAKE_BINARY_DIR}/condition_variable_wait.cpp")
  file(WRITE "${file}" "#include <condition_variable>
void std::condition_variable::wait(std::unique_lock<std::mutex> & lock) {
    pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}
")
  target_sources(${target} PRIVATE "${file}")
endfunction()

function(shorten_build)
  if(GGML_CPU_ALL_VARIANTS)
    empty_unused_modules()
  endif()
  if(TARGET llama-common)
    leave_out_unused_sources()
  endif()
  if(BUILD_SHARED_LIBS AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    foreach(target IN ITEMS llama-common ggml-cuda)
      if(TARGET ${target})
        define_condition_variable_wait(${target})
      endif()
    endforeach()
  endif()
  if(TARGET mtmd)
    unite_image_models()
  endif()
endfunction()

# The targets exist at the end of the whole configuration.
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL shorten_build)
