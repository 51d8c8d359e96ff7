import java.util.ArrayList;
import java.util.List;
import org.causerie.*;

/** The same conversation in Java. */
public final class WeatherInJava {
    public static void main(String[] arguments) throws SdkException, InterruptedException {
        String path = arguments.length == 0 ? "models/demo.gguf" : arguments[0];
        GenerationOptionsBuilder builder = new GenerationOptionsBuilder();
        builder.setTemperature(0f);
        GenerationOptions options = builder.build();
        try (ModelRunner runner = Causerie.loadModelBlocking(path);
                Conversation conversation =
                        runner.createConversation("You are causerie, a small assistant on this device.")) {
            conversation.registerFunction(
                    new SdkFunction(
                            "check_weather",
                            "Check the weather in a city.",
                            List.of(
                                    Causerie.sdkFunctionParameter(
                                            "city",
                                            new SdkFunctionParameterType.SdkStr(null, null),
                                            "City.",
                                            false))));
            ChatMessage question = Causerie.chatMessage(ChatMessageRole.USER, "Check the weather in Oslo");
            List<SdkFunctionCall> calls;
            try (BlockingReply reply = Causerie.generateResponseBlocking(conversation, question, options)) {
                calls = read(reply);
            }
            for (SdkFunctionCall call : calls) {
                System.out.println(call.getName() + call.getArguments());
                conversation.appendToHistory(
                        Causerie.chatMessage(ChatMessageRole.TOOL, "{\"sky\": \"sunny\", \"temperature\": 21}"));
            }
            try (BlockingReply reply = Causerie.continueResponseBlocking(conversation, options)) {
                read(reply);
            }
            System.out.println();
        }
    }

    /** Prints the text of a reply, and returns its calls. */
    private static List<SdkFunctionCall> read(BlockingReply reply) throws SdkException, InterruptedException {
        List<SdkFunctionCall> calls = new ArrayList<>();
        for (MessageResponse event : reply) {
            if (event instanceof MessageResponse.Chunk) {
                System.out.print(((MessageResponse.Chunk) event).getText());
            } else if (event instanceof MessageResponse.FunctionCalls) {
                calls.addAll(((MessageResponse.FunctionCalls) event).getFunctionCalls());
            }
        }
        return calls;
    }
}
