console.log("forked");
process.send("sent", () => process.disconnect());
