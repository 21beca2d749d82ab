console.log("build stub");
