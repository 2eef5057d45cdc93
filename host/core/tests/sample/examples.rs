//! The examples of the Sample specification: each one is read, is valid, and keeps its meaning in a round
//! trip.

use crate::schema::violations;
use gage_core::{Sample, TaskType};
use serde_json::{Value, json};

/// Generates one test per example.
macro_rules! examples {
    ($($name:ident: $task_type:ident = $text:literal;)*) => {
        $(
            #[test]
            fn $name() {
                comes_back($text, &TaskType::$task_type);
            }
        )*
    };
}

fn comes_back(text: &str, task_type: &TaskType) {
    let example: Value = serde_json::from_str(text).expect("the example is JSON");
    assert_eq!(violations(&example), Vec::<String>::new());
    let sample = Sample::from_value(example.clone()).expect("the example is a Sample");
    assert_eq!(sample.task_type.as_ref(), Some(task_type));
    let written = sample.to_value();
    assert_eq!(violations(&written), Vec::<String>::new());
    assert_eq!(written, spelled_out(example, &sample));
    assert_eq!(Sample::from_value(written), Ok(sample));
}

/// Expands the shorthands of an example: a string becomes a list with one text part, and a missing label
/// becomes the text of the first reference. What follows from the options is added.
fn spelled_out(mut example: Value, sample: &Sample) -> Value {
    let trajectories = example.get_mut("golden_trajectories").and_then(Value::as_array_mut);
    for message in trajectories.into_iter().flatten().filter_map(Value::as_array_mut).flatten() {
        if let Some(Value::String(text)) = message.get("content") {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
    }
    if let Value::Object(members) = &mut example {
        gage_core::add_derived(members);
        members.entry("label").or_insert_with(|| sample.references[0].text().into());
    }
    example
}

examples! {
    text_question: ShortAnswer = r#"
        {
          "schema_version": "v1",
          "id": "qa_0001",
          "task_type": "short-answer",
          "messages": [
            {
              "role": "user",
              "content": [{"type": "text", "text": "What is the capital of France?"}]
            }
          ],
          "references": [{"answer": [{"type": "text", "text": "Paris"}]}],
          "label": "Paris",
          "metadata": {"dataset": "demo"}
        }
    "#;
    multiple_choice: MultipleChoice = r#"
        {
          "schema_version": "v1",
          "id": "mc_0001",
          "task_type": "multiple-choice",
          "messages": [
            {
              "role": "user",
              "content": [{"type": "text", "text": "Which one is a mammal?"}]
            }
          ],
          "options": [
            {"id": "A", "content": "Shark"},
            {"id": "B", "content": "Dolphin"}
          ],
          "references": [{"answer": [{"type": "text", "text": "B"}]}],
          "label": "B",
          "metadata": {"option_map": {"A": "Shark", "B": "Dolphin"}}
        }
    "#;
    multi_turn_dialogue: Dialogue = r#"
        {
          "schema_version": "v1",
          "id": "dlg_0001",
          "task_type": "dialogue",
          "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Explain recursion."}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Recursion is ..."}]},
            {"role": "user", "content": [{"type": "text", "text": "Give an example."}]}
          ],
          "references": [{"answer": [{"type": "text", "text": "..." }]}]
        }
    "#;
    image_question: ImageQa = r#"
        {
          "schema_version": "v1",
          "id": "imgqa_0001",
          "task_type": "image-qa",
          "messages": [
            {
              "role": "user",
              "content": [
                {"type": "image_url", "image_url": {"url": "inputs/apple_0001.png"}},
                {"type": "text", "text": "What fruit is shown in the image?"}
              ]
            }
          ],
          "references": [{"answer": [{"type": "text", "text": "apple"}]}],
          "label": "apple"
        }
    "#;
    audio_translation: AudioTranslation = r#"
        {
          "schema_version": "v1",
          "id": "aud_0001",
          "task_type": "audio-translation",
          "messages": [
            {
              "role": "user",
              "content": [
                {"type": "audio_url", "audio_url": {"url": "inputs/hello.wav"}},
                {"type": "text", "text": "Translate the audio into English."}
              ]
            }
          ],
          "references": [{"answer": [{"type": "text", "text": "Hello"}]}],
          "label": "Hello"
        }
    "#;
    video_understanding: VideoQa = r#"
        {
          "schema_version": "v1",
          "id": "vid_0001",
          "task_type": "video-qa",
          "messages": [
            {
              "role": "user",
              "content": [
                {"type": "video_url", "video_url": {"url": "inputs/demo.mp4"}},
                {"type": "text", "text": "Describe what happens in the video."}
              ]
            }
          ],
          "references": [{"answer": [{"type": "text", "text": "..."}]}]
        }
    "#;
    document_understanding: DocQa = r#"
        {
          "schema_version": "v1",
          "id": "doc_0001",
          "task_type": "doc-qa",
          "messages": [
            {
              "role": "user",
              "content": [
                {"type": "file_url", "file_url": {"url": "inputs/paper.pdf"}},
                {"type": "text", "text": "Summarize section 2."}
              ]
            }
          ],
          "references": [{"answer": [{"type": "text", "text": "..."}]}]
        }
    "#;
    code_generation: CodeGeneration = r#"
        {
          "schema_version": "v1",
          "id": "code_0001",
          "task_type": "code-generation",
          "messages": [
            {
              "role": "user",
              "content": [{"type": "text", "text": "Write Python code to compute Fibonacci numbers."}]
            }
          ],
          "sandbox": {
            "image": "python:3.10",
            "setup": "python -V"
          },
          "references": [{"answer": [{"type": "text", "text": "..."}]}]
        }
    "#;
    text_to_image: TextToImage = r#"
        {
          "schema_version": "v1",
          "id": "t2i_0001",
          "task_type": "text-to-image",
          "messages": [
            {
              "role": "user",
              "content": [{"type": "text", "text": "Generate an image of an apple on a table."}]
            }
          ],
          "references": [
            {"answer": [{"type": "image_url", "image_url": {"url": "refs/apple_0001.png"}}]}
          ],
          "label": "refs/apple_0001.png"
        }
    "#;
    image_to_image: ImageToImage = r#"
        {
          "schema_version": "v1",
          "id": "i2i_0001",
          "task_type": "image-to-image",
          "messages": [
            {
              "role": "user",
              "content": [
                {"type": "image_url", "image_url": {"url": "inputs/sketch_0001.png"}},
                {"type": "text", "text": "Colorize the sketch."}
              ]
            }
          ],
          "references": [
            {"answer": [{"type": "image_url", "image_url": {"url": "refs/color_0001.png"}}]}
          ],
          "label": "refs/color_0001.png"
        }
    "#;
    text_to_audio: TextToAudio = r#"
        {
          "schema_version": "v1",
          "id": "t2a_0001",
          "task_type": "text-to-audio",
          "messages": [
            {
              "role": "user",
              "content": [{"type": "text", "text": "Generate an audio clip of ocean waves."}]
            }
          ],
          "references": [{"answer": [{"type": "audio_url", "audio_url": {"url": "refs/ocean_0001.wav"}}]}],
          "label": "refs/ocean_0001.wav"
        }
    "#;
    text_to_video: TextToVideo = r#"
        {
          "schema_version": "v1",
          "id": "t2v_0001",
          "task_type": "text-to-video",
          "messages": [
            {
              "role": "user",
              "content": [{"type": "text", "text": "Generate a short video of a running dog."}]
            }
          ],
          "references": [{"answer": [{"type": "video_url", "video_url": {"url": "refs/dog_0001.mp4"}}]}],
          "label": "refs/dog_0001.mp4"
        }
    "#;
    agent_with_tools_and_golden_trajectories: Agent = r#"
        {
          "schema_version": "v1",
          "id": "agent_0001",
          "task_type": "agent",
          "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Search the weather and summarize."}]}
          ],
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "get_weather",
                "description": "Get current weather",
                "parameters": {
                  "type": "object",
                  "properties": {"city": {"type": "string"}},
                  "required": ["city"]
                }
              }
            }
          ],
          "tool_choice": "auto",
          "golden_trajectories": [
            [
              {
                "role": "assistant",
                "tool_calls": [
                  {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"}}
                ]
              },
              {"role": "tool", "tool_call_id": "call_1", "content": "Sunny, 22C"},
              {"role": "assistant", "content": [{"type": "text", "text": "Paris is sunny at 22C."}]}
            ]
          ],
          "references": [{"answer": [{"type": "text", "text": "Paris is sunny at 22C."}]}]
        }
    "#;
}
